import { z } from 'zod';
import type { PackagedTemplate } from '../packaged-service.ts';

/** What tests read from a packaged template. */

const oneOrMore = z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat());
const arn = z.union([
  z.string(),
  z.object({ 'Fn::Sub': z.string() }).transform((sub) => sub['Fn::Sub']),
  z.object({ 'Fn::GetAtt': z.array(z.string()) }).transform((get) => get['Fn::GetAtt'].join('.')),
]);

const statement = z.object({
  Sid: z.string(),
  Effect: z.enum(['Allow', 'Deny']),
  Action: oneOrMore,
  Resource: z.union([arn, z.array(arn)]).transform((value) => [value].flat()),
  Condition: z.record(z.string(), z.unknown()).optional(),
});

const role = z.object({
  RoleName: z.string(),
  ManagedPolicyArns: z.undefined().optional(),
  AssumeRolePolicyDocument: z.object({
    Statement: z.tuple([
      z.object({
        Principal: z.object({ Service: z.literal('lambda.amazonaws.com') }),
        Action: z.literal('sts:AssumeRole'),
      }),
    ]),
  }),
  Policies: z.tuple([z.object({ PolicyDocument: z.object({ Statement: z.array(statement) }) })]),
});

export type Statement = z.infer<typeof statement>;

export const ofType = (
  { Resources }: PackagedTemplate,
  type: string,
): Readonly<Record<string, Readonly<Record<string, unknown>>>> =>
  Object.fromEntries(
    Object.entries(Resources).flatMap(([name, { Type, Properties }]) => (Type === type ? [[name, Properties]] : [])),
  );

export const propertiesOf = ({ Resources }: PackagedTemplate, name: string): Readonly<Record<string, unknown>> =>
  Resources[name]?.Properties ?? {};

export const statementsOf = (template: PackagedTemplate, name: string): readonly Statement[] =>
  role.parse(propertiesOf(template, name)).Policies[0].PolicyDocument.Statement;

export const roleNames = (template: PackagedTemplate): readonly string[] =>
  Object.keys(ofType(template, 'AWS::IAM::Role'));

/** What a role may do, without what is explicitly denied. */
export const allowedActions = (template: PackagedTemplate, name: string): readonly string[] =>
  [...new Set(statementsOf(template, name).flatMap(({ Effect, Action }) => (Effect === 'Allow' ? Action : [])))].sort();

export const statementNamed = (template: PackagedTemplate, name: string, sid: string): Statement | undefined =>
  statementsOf(template, name).find(({ Sid }) => Sid === sid);
