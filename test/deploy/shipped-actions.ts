import { z } from 'zod';
import type { PolicyDocument } from '../../sandbox/ec2/iam/policy-document.ts';
import { resourcesIn } from '../infra/aws/source-files.ts';

/** What infra/aws/roles.yml allows, whether it is turned on or not. */

const oneOrMore = z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat());
const statement = z.object({ Sid: z.string(), Effect: z.string(), Action: oneOrMore });
const role = z.object({
  Properties: z.object({
    Policies: z.tuple([
      z.object({ PolicyName: z.string(), PolicyDocument: z.object({ Statement: z.array(statement) }) }),
    ]),
  }),
});
/** One action in one statement of the role of one function. */
export interface ShippedAction {
  readonly name: string;
  readonly action: string;
  readonly sid: string;
}

const roles = z.record(z.string(), role).parse(resourcesIn('roles.yml'));

export const shippedActions: readonly ShippedAction[] = Object.values(roles).flatMap(({ Properties: { Policies } }) =>
  Policies[0].PolicyDocument.Statement.filter(({ Effect }) => Effect === 'Allow').flatMap(({ Sid, Action }) =>
    Action.map((action) => ({ name: Policies[0].PolicyName, action, sid: Sid })),
  ),
);

const isMade = (deployed: string | undefined, sid: string): boolean => deployed?.replace(/\d+$/, '') === sid;

/**
 * The policy without one action in this one statement, however often the statement occurs. A statement without actions
 * is removed.
 */
export const without = (policy: PolicyDocument, { action, sid }: ShippedAction): PolicyDocument => {
  const left = policy.Statement.map((statement) =>
    isMade(statement.Sid, sid)
      ? { ...statement, Action: statement.Action.filter((other) => other !== action) }
      : statement,
  );
  if (left.every(({ Action }, at) => Action.length === policy.Statement[at]?.Action.length))
    throw new Error(`the deployed role has no ${action} in ${sid}`);
  return { ...policy, Statement: left.filter(({ Action }) => Action.length > 0) };
};
