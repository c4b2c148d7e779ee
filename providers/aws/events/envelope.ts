import { z } from 'zod';
import type { Hint, Reading } from '../../../fencing/hint.ts';
import { aside, hinted } from '../../events/reading.ts';
import { fault, unreadable } from './faults.ts';
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

export const readEnvelope = (raw: object, where: string): Reading => {
  const outer = envelope.safeParse(raw);
  if (!outer.success) return unreadable(outer.error, where, 'send the event as EventBridge delivers it', raw);
  const type = outer.data['detail-type'];
  const kind = knownKinds.get(type);
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
