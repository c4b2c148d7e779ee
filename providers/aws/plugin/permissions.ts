import {
  DescribeInstancesCommand,
  DetachVolumeCommand,
  type EC2Client,
  StopInstancesCommand,
  type Tag,
} from '@aws-sdk/client-ec2';
import { PermissionDenied, Refused } from '../../../fencing/model/errors.ts';
import type { DiskId, MachineFacts, MachineId } from '../../../fencing/model/machine.ts';
import type { Check } from '../../check.ts';
import type { PermissionTrial } from '../../plugin.ts';
import type { Ec2Clients } from '../client.ts';
import { readVolumes } from '../disks.ts';
import { toCloudfenceError, withCloudfenceErrors } from '../errors.ts';
import { lookAtMachines } from '../look.ts';

/** Tries the calls of a fence as EC2 dry runs and returns the results as lines for `cloudfence doctor`. */

export interface PermissionScope {
  readonly clients: Ec2Clients;
  readonly region: string;
  /** Null if the tags on which the permissions depend are unknown. */
  readonly tags: TagRule | null;
}

/**
 * Creates the check for a dry run on ids that do not exist. A denial proves nothing in this case: a permission that
 * depends on a tag is always denied for an object that does not exist, because it has no tag.
 */
const checkOnMissingObjects = (what: string, order: DestructiveCall, denied: string | null): Check =>
  denied === null
    ? { what, verdict: 'ok', says: `EC2 does not deny ${order} in a dry run` }
    : {
        what,
        verdict: 'warn',
        says:
          `${denied} in a dry run on ids that do not exist. EC2 always denies that if the permission depends on ` +
          'a tag: check again when a Node has a disk',
      };

const namesOf = (order: DestructiveCall, { machine, disk }: TrialTarget): string =>
  order === 'ec2:DetachVolume' ? `${disk} of ${machine}` : machine;

/** Stopping a machine requires no tag on its disk. */
const ruleFor = (order: DestructiveCall, rule: TagRule): TagRule =>
  order === 'ec2:DetachVolume' ? rule : { ...rule, volumes: [] };

const whyDenied = async (
  order: DestructiveCall,
  tried: TrialResult,
  { clients, tags }: PermissionScope,
  signal: AbortSignal,
): Promise<string> => {
  const missing = tags === null ? [] : await missingTags(clients.reads, tried, ruleFor(order, tags), signal);
  return (
    `on ${namesOf(order, tried)}: ` +
    `${missing.length > 0 ? `${missing.join(', and ')}; the permission depends on that tag` : tried.denied}`
  );
};

const remedies: Record<DestructiveCall, string> = {
  'ec2:DetachVolume':
    'a disk that Kubernetes does not detach would stay attached. Grant the permission, or add the tag ' +
    '(docs/aws.md, "Permissions")',
  'ec2:StopInstances':
    'the policy `unreachable: power-off` would have no effect. Grant the permission, or add the tag ' +
    '(docs/aws.md, "Permissions")',
};

const MOST_SAID = 3;

const checkOf = async (
  what: string,
  order: DestructiveCall,
  targets: readonly TrialTarget[],
  scope: PermissionScope,
  signal: AbortSignal,
): Promise<Check> => {
  const tried = await Promise.all(targets.map((target) => tryOrder(scope.clients, order, target, signal)));
  const [first] = tried;
  if (first?.exists === false) return checkOnMissingObjects(what, order, first.denied);
  const denied = tried.filter((one) => one.denied !== null);
  if (denied.length === 0)
    return {
      what,
      verdict: 'ok',
      says: `EC2 would allow ${order}; tried on ${tried.map((one) => namesOf(order, one)).join(', ')}`,
    };
  const why = await Promise.all(denied.slice(0, MOST_SAID).map((one) => whyDenied(order, one, scope, signal)));
  const more =
    denied.length > MOST_SAID
      ? `; and on ${denied.length - MOST_SAID} more of the ${tried.length} machines that were tried`
      : '';
  return { what, verdict: 'fail', says: `EC2 denies ${order} ${why.join('; ')}${more}: ${remedies[order]}` };
};

/** Checks whether EC2 would allow the destructive calls of this policy. @throws PermissionDenied, Unavailable */
export const destructiveCallChecks = async (
  { policy, machines }: PermissionTrial,
  scope: PermissionScope,
  signal: AbortSignal,
): Promise<readonly Check[]> => {
  const targets = await pickTargets(scope.clients, scope.region, machines, signal);
  const detach =
    policy.detach === 'never' ? [] : [checkOf('may detach disks', 'ec2:DetachVolume', targets, scope, signal)];
  const powerOff =
    policy.unreachable === 'power-off'
      ? [checkOf('may power off machines', 'ec2:StopInstances', targets, scope, signal)]
      : [];
  return Promise.all([...detach, ...powerOff]);
};

/** Ids that EC2 never assigned. A call with them shows whether the credentials allow this kind of call at all. */
const MISSING_INSTANCE = 'i-00000000000000000';
const MISSING_VOLUME = 'vol-00000000000000000';

/**
 * The maximum number of machines to try. The permissions of a role may depend on tags, and tags differ from machine to
 * machine.
 */
const MOST_TRIED = 10;

interface TrialTarget {
  readonly machine: MachineId;
  readonly disk: DiskId;
  /** False for ids that do not exist and therefore have no tags. */
  readonly exists: boolean;
}

interface TrialResult extends TrialTarget {
  /** EC2's answer if it denies the call, otherwise null. */
  readonly denied: string | null;
}

type DestructiveCall = 'ec2:DetachVolume' | 'ec2:StopInstances';

/** Checks that EC2 answers the reads of a fence. @throws PermissionDenied, Unavailable */
export const probeReads = async ({ reads }: Ec2Clients, region: string, signal: AbortSignal): Promise<void> => {
  await lookAtMachines(reads, region, [MISSING_INSTANCE], { disks: true }, signal);
};

const missingTarget: TrialTarget = { machine: MISSING_INSTANCE, disk: MISSING_VOLUME, exists: false };

const spread = <T>(all: readonly T[], most: number): readonly T[] =>
  all.length <= most
    ? all
    : Array.from({ length: most }, (_, at) => all[Math.floor((at * all.length) / most)]).filter(
        (one) => one !== undefined,
      );

const dataDiskOf = ({ machine, disks }: MachineFacts): readonly TrialTarget[] => {
  const first = disks.find(({ keep }) => keep === null);
  return first ? [{ machine, disk: first.disk, exists: true }] : [];
};

/**
 * Returns some of these machines that have a data disk, or ids that do not exist if no machine has one.
 *
 * @throws PermissionDenied, Unavailable
 */
const pickTargets = async (
  { reads }: Ec2Clients,
  region: string,
  machines: readonly MachineId[],
  signal: AbortSignal,
): Promise<readonly TrialTarget[]> => {
  const facts = await lookAtMachines(reads, region, machines, { disks: true }, signal);
  const targets = spread(facts.flatMap(dataDiskOf), MOST_TRIED);
  return targets.length === 0 ? [missingTarget] : targets;
};

const send = (
  client: EC2Client,
  order: DestructiveCall,
  { machine, disk }: TrialTarget,
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
 * Tries one call as a dry run. A dry run changes nothing and always ends with an error. The error says that the call
 * would have succeeded, that it is denied, or what is wrong with it.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonParameters.html
 *
 * @throws Unavailable
 */
const tryOrder = async (
  { reads }: Ec2Clients,
  order: DestructiveCall,
  target: TrialTarget,
  signal: AbortSignal,
): Promise<TrialResult> => {
  try {
    await send(reads, order, target, signal);
  } catch (caught) {
    const error = toCloudfenceError(caught, order);
    if (error instanceof PermissionDenied) return { ...target, denied: error.message };
    if (!(error instanceof Refused)) throw error;
  }
  return { ...target, denied: null };
};

/** A tag that must have one of these values. */
interface WantedTag {
  readonly key: string;
  readonly values: readonly string[];
}

/** The tags on which a role's permissions depend. One tag of each list is sufficient. */
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

const missingTag = (id: string, tags: readonly Tag[], wanted: readonly WantedTag[]): readonly string[] =>
  bearsOne(tags, wanted) ? [] : [`${id} does not have the tag ${inWords(wanted)}`];

/**
 * Describes the tags that are missing on a machine and its disk. Returns an empty list if tags are not the reason.
 *
 * @throws Unavailable, PermissionDenied, Refused
 */
const missingTags = async (
  client: EC2Client,
  { machine, disk }: TrialTarget,
  { instances, volumes }: TagRule,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const answer = await withCloudfenceErrors('ec2:DescribeInstances', () =>
    client.send(new DescribeInstancesCommand({ InstanceIds: [machine] }), { abortSignal: signal }),
  );
  const found = answer.Reservations?.flatMap(({ Instances = [] }) => Instances) ?? [];
  const [volume] = await readVolumes(client, [disk], signal);
  return [
    ...missingTag(
      machine,
      found.flatMap(({ Tags = [] }) => Tags),
      instances,
    ),
    ...missingTag(disk, volume?.Tags ?? [], volumes),
  ];
};
