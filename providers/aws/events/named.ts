import { INSTANCE_ID } from '../ids.ts';

/** Where an event names an instance, however its sender spells that: in its detail, or only by an ARN beside it. */

const ARN = /^arn:[^:]+:ec2:[^:]*:[^:]*:instance\/(i-[0-9a-f]{8,17})$/;
const LONGEST_NAME = 30;
const NAMES: ReadonlySet<string> = new Set(['instanceid', 'ec2instanceid']);

const isIt = (key: string): boolean => key.length <= LONGEST_NAME && NAMES.has(key.toLowerCase().replaceAll(/[-_]/g, ''));

/** The fields that name an instance, well or badly. */
const fieldsOf = (detail: object): readonly unknown[] => Object.entries(detail).flatMap(([key, value]) => (isIt(key) && value !== '' && value != null ? [value as unknown] : []));

const listed = (raw: object): readonly unknown[] => ('resources' in raw && Array.isArray(raw.resources) ? raw.resources : []);

const isInstance = (value: unknown): value is string => typeof value === 'string' && INSTANCE_ID.test(value);

/** The one instance that the detail names; null where it names none, or anything else. */
export const namedInDetail = (detail: object): string | null => {
  const [only, ...others] = new Set(fieldsOf(detail));
  return isInstance(only) && others.length === 0 ? only : null;
};

const MOST_ARNS = 1_000;

/** Instances that stand beside the event as ARNs. */
export const namedByArn = (raw: object): readonly string[] => {
  const named = listed(raw).slice(0, MOST_ARNS).flatMap((arn) => (typeof arn === 'string' && arn.length < 200 ? (ARN.exec(arn)?.[1] ?? []) : []));
  return [...new Set(named)];
};

/** What names an instance in the detail, be it no id: then an ARN must not speak in its place. */
export const namesAny = (detail: object): boolean => fieldsOf(detail).length > 0;
