import { z } from 'zod';
import type { Hint, Reading } from '../../../fencing/hint.ts';
import { aside, hinted } from '../../events/reading.ts';
import { fault, unreadable } from './faults.ts';
import { jsonOrText } from '../../../fencing/json-text.ts';
import { namedByArn, namedInDetail, namesAny } from './named.ts';
import { knownKinds } from './kinds.ts';
import { momentOf } from './moment.ts';
import type { Understood } from './understood.ts';

/**
 * What all EventBridge events share. Ids are no UUIDs and times are placeholders in some published samples, so neither is
 * judged. https://docs.aws.amazon.com/eventbridge/latest/ref/events-structure.html
 */
const envelope = z.object({
  'detail-type': z.string(),
  source: z.string().nullish(),
  id: z.string().nullish(),
  account: z.string().nullish(),
  region: z.string().nullish(),
  time: z.string().nullish(),
  'replay-name': z.string().nullish(),
});

type Envelope = z.infer<typeof envelope>;

/** They send much that is about no instance, and new kinds of it: none of that is a mistake of whoever made the rule. */
const OUR_SOURCES: ReadonlySet<string> = new Set(['aws.ec2', 'aws.ec2fleet', 'aws.ec2spotfleet', 'aws.autoscaling', 'aws.health']);

const detailOf = (raw: object): unknown => ('detail' in raw ? raw.detail : undefined);

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The same event as EC2 would have sent it: its detail no text, and the instance under the names that are published. */
const asPublished = (raw: object): object => {
  const said = detailOf(raw);
  const detail = typeof said === 'string' ? jsonOrText(said) : said;
  if (!isObject(detail)) return { ...raw, detail };
  const arns = namesAny(detail) ? [] : namedByArn(raw);
  const machine = namedInDetail(detail) ?? (arns.length === 1 ? (arns[0] ?? null) : null);
  return machine === null ? { ...raw, detail } : { ...raw, detail: { 'instance-id': machine, EC2InstanceId: machine, ...detail } };
};

/** Instances of an event of AWS's own of a kind that nobody knows: a reason to look at them all the same. */
const machinesIn = (raw: object): readonly string[] => {
  const detail = detailOf(raw);
  const named = isObject(detail) ? namedInDetail(detail) : null;
  return named === null ? namedByArn(raw) : [named];
};

const kebab = (type: string): string => type.slice(0, LONGEST_WORD).replaceAll(/[^A-Za-z\d]+/g, '-').replaceAll(/^-|-$/g, '').toLowerCase();
const LONGEST_WORD = 60;

export const readEnvelope = (sent: object, where: string): Reading => {
  const raw = asPublished(sent);
  const outer = envelope.safeParse(raw);
  if (!outer.success) return unreadable(outer.error, where, 'send the event as EventBridge delivers it', raw);
  const type = outer.data['detail-type'];
  const kind = knownKinds.get(type);
  const machines = !kind && OUR_SOURCES.has(outer.data.source ?? '') ? machinesIn(raw) : [];
  if (machines.length > 0) return readingOf(outer.data, { machines, because: `event-${kebab(type)}` }, where);
  if (!kind && OUR_SOURCES.has(outer.data.source ?? '')) return aside(`an event of the type "${type}"`, where);
  if (!kind) return fault(`events of the type "${type}" are not understood`, `${where}['detail-type']`, 'narrow the rule that sends them', raw);
  const inner = kind.safeParse(raw);
  if (!inner.success) return unreadable(inner.error, where, `check the event against the published shape of "${type}"`, raw);
  return readingOf(outer.data, inner.data, where);
};

const readingOf = (outer: Envelope, understood: Understood, where: string): Reading =>
  understood.machines === null
    ? aside(understood.aside, where)
    : hinted(understood.machines.map((machine) => hintOf(outer, machine, understood)));

const hintOf = (outer: Envelope, machine: string, { because, at }: Extract<Understood, { readonly because: string }>): Hint => ({
  machine,
  because,
  eventId: outer.id ?? null,
  time: momentOf(outer.time),
  account: at?.account ?? outer.account ?? null,
  region: at?.region ?? outer.region ?? null,
  replay: outer['replay-name'] ?? null,
});
