import {
  DescribeInstancesCommand,
  DetachVolumeCommand,
  type EC2Client,
  StopInstancesCommand,
  type Tag,
} from '@aws-sdk/client-ec2';
import { Denied, Refused } from '../../../fencing/model/errors.ts';
import type { DiskId, MachineFacts, MachineId } from '../../../fencing/model/machine.ts';
import type { Check } from '../../check.ts';
import type { Trial } from '../../plugin.ts';
import type { Ec2Clients } from '../client.ts';
import { volumesById } from '../disks.ts';
import { toCloudfenceError, withCloudfenceErrors } from '../errors.ts';
import { look } from '../look.ts';

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
    : {
        what,
        verdict: 'warn',
        says: `${denied} in a dry run on what does not exist, as every permission that hangs on a tag does: ask again when a Node holds a disk`,
      };

const namesOf = (order: Order, { machine, disk }: OrderTarget): string =>
  order === 'ec2:DetachVolume' ? `${disk} of ${machine}` : machine;

/** The stopping of a machine asks nothing of its disk. */
const ruleFor = (order: Order, rule: TagRule): TagRule =>
  order === 'ec2:DetachVolume' ? rule : { ...rule, volumes: [] };

const whyDenied = async (
  order: Order,
  tried: TriedOrder,
  { clients, tags }: OrderPlace,
  signal: AbortSignal,
): Promise<string> => {
  const missing = tags === null ? [] : await missingTags(clients.reads, tried, ruleFor(order, tags), signal);
  return `on ${namesOf(order, tried)}: ${missing.length > 0 ? `${missing.join(', and ')}, on which the permission hangs` : tried.denied}`;
};

const remedies: Record<Order, string> = {
  'ec2:DetachVolume':
    'a disk that Kubernetes does not let go of would stay attached; give the permission or the tag (docs/aws.md, "Permissions")',
  'ec2:StopInstances':
    'the policy `unreachable: power-off` would do nothing; give the permission or the tag (docs/aws.md, "Permissions")',
};

const MOST_SAID = 3;

const checkOf = async (
  what: string,
  order: Order,
  targets: readonly OrderTarget[],
  place: OrderPlace,
  signal: AbortSignal,
): Promise<Check> => {
  const tried = await Promise.all(targets.map((target) => tryOrder(place.clients, order, target, signal)));
  const [first] = tried;
  if (first?.exists === false) return nobodys(what, order, first.denied);
  const denied = tried.filter((one) => one.denied !== null);
  if (denied.length === 0)
    return {
      what,
      verdict: 'ok',
      says: `${order} would be allowed, tried on ${tried.map((one) => namesOf(order, one)).join(', ')}`,
    };
  const why = await Promise.all(denied.slice(0, MOST_SAID).map((one) => whyDenied(order, one, place, signal)));
  const more =
    denied.length > MOST_SAID
      ? `; and on ${denied.length - MOST_SAID} more of the ${tried.length} that were tried`
      : '';
  return { what, verdict: 'fail', says: `${order} IS DENIED ${why.join('; ')}${more}: ${remedies[order]}` };
};

/** @throws Denied, Unavailable */
export const orderChecks = async (
  { policy, machines }: Trial,
  place: OrderPlace,
  signal: AbortSignal,
): Promise<readonly Check[]> => {
  const targets = await targetsAmong(place.clients, place.region, machines, signal);
  const detach =
    policy.detach === 'never' ? [] : [checkOf('may detach disks', 'ec2:DetachVolume', targets, place, signal)];
  const powerOff =
    policy.unreachable === 'power-off'
      ? [checkOf('may power off machines', 'ec2:StopInstances', targets, place, signal)]
      : [];
  return Promise.all([...detach, ...powerOff]);
};

/** Ids that EC2 never gave out: asking for them shows whether we may ask. */
const NOBODYS_INSTANCE = 'i-00000000000000000';
const NOBODYS_VOLUME = 'vol-00000000000000000';

/**
 * Machines on which orders are tried: the permissions of a role may hang on tags, and those differ from machine to
 * machine.
 */
const MOST_TRIED = 10;

interface OrderTarget {
  readonly machine: MachineId;
  readonly disk: DiskId;
  /** False of ids that stand for nobody, which bear no tags. */
  readonly exists: boolean;
}

interface TriedOrder extends OrderTarget {
  /** What EC2 answered, where it denies the order. */
  readonly denied: string | null;
}

type Order = 'ec2:DetachVolume' | 'ec2:StopInstances';

/** Whether the reads of a fence are answered. @throws Denied, Unavailable */
export const probeReads = async ({ reads }: Ec2Clients, region: string, signal: AbortSignal): Promise<void> => {
  await look(reads, region, [NOBODYS_INSTANCE], { disks: true }, signal);
};

const nobody: OrderTarget = { machine: NOBODYS_INSTANCE, disk: NOBODYS_VOLUME, exists: false };

const spread = <T>(all: readonly T[], most: number): readonly T[] =>
  all.length <= most
    ? all
    : Array.from({ length: most }, (_, at) => all[Math.floor((at * all.length) / most)]).filter(
        (one) => one !== undefined,
      );

const dataDiskOf = ({ machine, disks }: MachineFacts): readonly OrderTarget[] => {
  const first = disks.find(({ keep }) => keep === null);
  return first ? [{ machine, disk: first.disk, exists: true }] : [];
};

/** Of these machines some that hold a data disk; nobody's, where none does. @throws Denied, Unavailable */
const targetsAmong = async (
  { reads }: Ec2Clients,
  region: string,
  machines: readonly MachineId[],
  signal: AbortSignal,
): Promise<readonly OrderTarget[]> => {
  const facts = await look(reads, region, machines, { disks: true }, signal);
  const targets = spread(facts.flatMap(dataDiskOf), MOST_TRIED);
  return targets.length === 0 ? [nobody] : targets;
};

const send = (
  client: EC2Client,
  order: Order,
  { machine, disk }: OrderTarget,
  abortSignal: AbortSignal,
): Promise<unknown> => {
  switch (order) {
    case 'ec2:DetachVolume':
      return client.send(new DetachVolumeCommand({ DryRun: true, VolumeId: disk, InstanceId: machine }), {
        abortSignal,
      });
    case 'ec2:StopInstances':
      return client.send(new StopInstancesCommand({ DryRun: true, InstanceIds: [machine], Force: true }), {
        abortSignal,
      });
  }
};

/**
 * A dry run changes nothing, and never ends well: it says that the call would have succeeded, that it is denied, or
 * what is wrong with it. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonParameters.html
 *
 * @throws Unavailable
 */
const tryOrder = async (
  { reads }: Ec2Clients,
  order: Order,
  target: OrderTarget,
  signal: AbortSignal,
): Promise<TriedOrder> => {
  try {
    await send(reads, order, target, signal);
  } catch (caught) {
    const error = toCloudfenceError(caught, order);
    if (error instanceof Denied) return { ...target, denied: error.message };
    if (!(error instanceof Refused)) throw error;
  }
  return { ...target, denied: null };
};

/** A tag of which one of these values is wanted. */
interface WantedTag {
  readonly key: string;
  readonly values: readonly string[];
}

/** What the permissions of a role hang on: of each list one tag is enough. */
interface TagRule {
  readonly instances: readonly WantedTag[];
  readonly volumes: readonly WantedTag[];
}

const bearsOne = (tags: readonly Tag[], wanted: readonly WantedTag[]): boolean =>
  wanted.length === 0 ||
  wanted.some(({ key, values }) =>
    tags.some(({ Key, Value }) => Key === key && Value !== undefined && values.includes(Value)),
  );

const inWords = (wanted: readonly WantedTag[]): string =>
  wanted.map(({ key, values }) => `${key}=${values.join('|')}`).join(' or ');

const said = (id: string, tags: readonly Tag[], wanted: readonly WantedTag[]): readonly string[] =>
  bearsOne(tags, wanted) ? [] : [`${id} bears no tag ${inWords(wanted)}`];

/**
 * Which tags are missing on a machine and its disk, in words; none, where tags are not why. @throws Unavailable,
 * Denied, Refused
 */
const missingTags = async (
  client: EC2Client,
  { machine, disk }: OrderTarget,
  { instances, volumes }: TagRule,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const answer = await withCloudfenceErrors('ec2:DescribeInstances', () =>
    client.send(new DescribeInstancesCommand({ InstanceIds: [machine] }), { abortSignal: signal }),
  );
  const found = answer.Reservations?.flatMap(({ Instances = [] }) => Instances) ?? [];
  const [volume] = await volumesById(client, [disk], signal);
  return [
    ...said(
      machine,
      found.flatMap(({ Tags = [] }) => Tags),
      instances,
    ),
    ...said(disk, volume?.Tags ?? [], volumes),
  ];
};
