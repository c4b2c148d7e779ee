import type { Conditions, PolicyDocument, Statement } from './policy-document.ts';

/** One action of a call on one resource, with its condition keys. */
export interface AccessRequest {
  /** The action, such as `ec2:DetachVolume`. */
  readonly action: string;
  /** The ARN, or `*` if the action has no resource. */
  readonly resource: string;
  /** Values by condition key, such as `aws:ResourceTag/owner`. */
  readonly context: Readonly<Record<string, string>>;
}

/**
 * A call is allowed if an Allow statement applies and no Deny statement does.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
 */
export const mayDo = (policies: readonly PolicyDocument[], demand: AccessRequest): boolean => {
  const effects = policies.flatMap(({ Statement: statements }) =>
    statements.filter((statement) => applies(statement, demand)).map(({ Effect }) => Effect),
  );
  return effects.includes('Allow') && !effects.includes('Deny');
};

const applies = ({ Action, Resource, Condition }: Statement, { action, resource, context }: AccessRequest): boolean =>
  Action.some((pattern) => like(pattern.toLowerCase(), action.toLowerCase())) &&
  Resource.some((pattern) => like(pattern, resource)) &&
  allHold(Condition, context);

/** `*` matches any characters, and `?` matches one. */
const like = (pattern: string, value: string): boolean =>
  new RegExp(
    `^${pattern
      .replaceAll(/[\\^$.|+()[\]{}]/g, String.raw`\$&`)
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
    's',
  ).test(value);

const equal = (one: string, other: string): boolean => one === other;

/** ArnEquals also accepts wildcards. */
const operators: Readonly<Record<keyof Conditions, typeof like>> = {
  StringEquals: equal,
  StringLike: like,
  ArnEquals: like,
  ArnLike: like,
};

/** Every key must match with one of its values. The letter case of a key does not matter. */
const allHold = (conditions: Conditions, context: AccessRequest['context']): boolean => {
  const known = new Map(Object.entries(context).map(([key, value]) => [key.toLowerCase(), value]));
  return namesOf(conditions).every((name) =>
    Object.entries(conditions[name] ?? {}).every(([key, values]) => {
      const value = known.get(key.toLowerCase());
      return value !== undefined && values.some((pattern) => operators[name](pattern, value));
    }),
  );
};

const namesOf = (conditions: Conditions): readonly (keyof Conditions)[] =>
  (['StringEquals', 'StringLike', 'ArnEquals', 'ArnLike'] as const).filter((name) => conditions[name] !== undefined);
