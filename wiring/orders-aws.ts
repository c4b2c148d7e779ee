import { missingTags, targetsAmong, tryOrder, type Ec2Clients, type Order, type OrderTarget, type TagRule, type TriedOrder } from '../providers/aws/index.ts';
import type { Check } from './check.ts';
import type { Trial } from './cloud-kit.ts';

/** What EC2 says in dry runs to the orders of a fence, as lines of the doctor. */

export interface OrderPlace {
  readonly clients: Ec2Clients;
  readonly region: string;
  /** Null where nobody knows what the permissions hang on. */
  readonly tags: TagRule | null;
}

/** Permissions that hang on a tag are denied for what does not exist and bears none: no proof. */
const nobodys = (what: string, order: Order, denied: string | null): Check =>
  denied === null
    ? { what, verdict: 'ok', says: `${order} is not denied in a dry run` }
    : { what, verdict: 'warn', says: `${denied} in a dry run on what does not exist, as every permission that hangs on a tag does: ask again when a Node holds a disk` };

const namesOf = (order: Order, { machine, disk }: OrderTarget): string => (order === 'ec2:DetachVolume' ? `${disk} of ${machine}` : machine);

/** The stopping of a machine asks nothing of its disk. */
const ruleFor = (order: Order, rule: TagRule): TagRule => (order === 'ec2:DetachVolume' ? rule : { ...rule, volumes: [] });

const whyDenied = async (order: Order, tried: TriedOrder, { clients, tags }: OrderPlace, signal: AbortSignal): Promise<string> => {
  const missing = tags === null ? [] : await missingTags(clients.reads, tried, ruleFor(order, tags), signal);
  return `on ${namesOf(order, tried)}: ${missing.length > 0 ? `${missing.join(', and ')}, on which the permission hangs` : tried.denied}`;
};

const mends: Record<Order, string> = {
  'ec2:DetachVolume': 'a disk that Kubernetes does not let go of would stay attached; give the permission or the tag (docs/aws.md, "Permissions")',
  'ec2:StopInstances': 'the policy `unreachable: power-off` would do nothing; give the permission or the tag (docs/aws.md, "Permissions")',
};

const MOST_SAID = 3;

const checkOf = async (what: string, order: Order, targets: readonly OrderTarget[], place: OrderPlace, signal: AbortSignal): Promise<Check> => {
  const tried = await Promise.all(targets.map((target) => tryOrder(place.clients, order, target, signal)));
  const [first] = tried;
  if (first?.exists === false) return nobodys(what, order, first.denied);
  const denied = tried.filter((one) => one.denied !== null);
  if (denied.length === 0) return { what, verdict: 'ok', says: `${order} would be allowed, tried on ${tried.map((one) => namesOf(order, one)).join(', ')}` };
  const why = await Promise.all(denied.slice(0, MOST_SAID).map((one) => whyDenied(order, one, place, signal)));
  const more = denied.length > MOST_SAID ? `; and on ${denied.length - MOST_SAID} more of the ${tried.length} that were tried` : '';
  return { what, verdict: 'fail', says: `${order} IS DENIED ${why.join('; ')}${more}: ${mends[order]}` };
};

/** @throws Denied, Unavailable */
export const orderChecks = async ({ policy, machines }: Trial, place: OrderPlace, signal: AbortSignal): Promise<readonly Check[]> => {
  const targets = await targetsAmong(place.clients, place.region, machines, signal);
  const detach = policy.detach === 'never' ? [] : [checkOf('may detach disks', 'ec2:DetachVolume', targets, place, signal)];
  const powerOff = policy.unreachable === 'power-off' ? [checkOf('may power off machines', 'ec2:StopInstances', targets, place, signal)] : [];
  return Promise.all([...detach, ...powerOff]);
};
