import { z } from 'zod';

/**
 * The part of an IAM policy that the sandbox can evaluate. A document with any other element is rejected, so that no
 * condition is silently ignored. https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html
 */

const oneOrMore = z.union([z.string(), z.array(z.string())]).transform((value): readonly string[] => [value].flat());
const expected = z.record(z.string(), oneOrMore).optional();

const conditions = z
  .strictObject({ StringEquals: expected, StringLike: expected, ArnEquals: expected, ArnLike: expected })
  .readonly();

const statement = z
  .strictObject({
    Sid: z.string().optional(),
    Effect: z.enum(['Allow', 'Deny']),
    Action: oneOrMore,
    Resource: oneOrMore,
    Condition: conditions.default({}),
  })
  .readonly();

export const policyDocument = z
  .strictObject({ Version: z.literal('2012-10-17'), Statement: z.array(statement).readonly() })
  .readonly();

export type PolicyDocument = z.infer<typeof policyDocument>;
export type Statement = PolicyDocument['Statement'][number];
export type Conditions = z.infer<typeof conditions>;
