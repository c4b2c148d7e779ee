import { DetachVolumeCommand, StopInstancesCommand } from '@aws-sdk/client-ec2';
import type { EC2Client } from '@aws-sdk/client-ec2';
import { Denied, Refused } from '../../fencing/errors.ts';
import type { DiskId, MachineFacts, MachineId } from '../../fencing/machine.ts';
import type { Ec2Clients } from './client.ts';
import { inOurWords } from './errors.ts';
import { look } from './look.ts';

/** Ids that EC2 never gave out: asking for them shows whether we may ask. */
const NOBODYS_INSTANCE = 'i-00000000000000000';
const NOBODYS_VOLUME = 'vol-00000000000000000';

/** Machines on which orders are tried: the permissions of a role may hang on tags, and those differ from machine to machine. */
const MOST_TRIED = 10;

export interface OrderTarget {
  readonly machine: MachineId;
  readonly disk: DiskId;
  /** False of ids that stand for nobody, which bear no tags. */
  readonly exists: boolean;
}

export interface TriedOrder extends OrderTarget {
  /** What EC2 answered, where it denies the order. */
  readonly denied: string | null;
}

export type Order = 'ec2:DetachVolume' | 'ec2:StopInstances';

/** Whether the reads of a fence are answered. @throws Denied, Unavailable */
export const probeReads = async ({ reads }: Ec2Clients, region: string, signal: AbortSignal): Promise<void> => {
  await look(reads, region, [NOBODYS_INSTANCE], { disks: true }, signal);
};

const nobody: OrderTarget = { machine: NOBODYS_INSTANCE, disk: NOBODYS_VOLUME, exists: false };

const spread = <T>(all: readonly T[], most: number): readonly T[] => (all.length <= most ? all : Array.from({ length: most }, (_, at) => all[Math.floor((at * all.length) / most)]).filter((one) => one !== undefined));

const dataDiskOf = ({ machine, disks }: MachineFacts): readonly OrderTarget[] => {
  const first = disks.find(({ keep }) => keep === null);
  return first ? [{ machine, disk: first.disk, exists: true }] : [];
};

/** Of these machines some that hold a data disk; nobody's, where none does. @throws Denied, Unavailable */
export const targetsAmong = async ({ reads }: Ec2Clients, region: string, machines: readonly MachineId[], signal: AbortSignal): Promise<readonly OrderTarget[]> => {
  const facts = await look(reads, region, machines, { disks: true }, signal);
  const targets = spread(facts.flatMap(dataDiskOf), MOST_TRIED);
  return targets.length === 0 ? [nobody] : targets;
};

const send = (client: EC2Client, order: Order, { machine, disk }: OrderTarget, abortSignal: AbortSignal): Promise<unknown> => {
  switch (order) {
    case 'ec2:DetachVolume':
      return client.send(new DetachVolumeCommand({ DryRun: true, VolumeId: disk, InstanceId: machine }), { abortSignal });
    case 'ec2:StopInstances':
      return client.send(new StopInstancesCommand({ DryRun: true, InstanceIds: [machine], Force: true }), { abortSignal });
  }
};

/**
 * A dry run changes nothing, and never ends well: it says that the call would have succeeded, that it is denied, or what
 * is wrong with it. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonParameters.html
 *
 * @throws Unavailable
 */
export const tryOrder = async ({ reads }: Ec2Clients, order: Order, target: OrderTarget, signal: AbortSignal): Promise<TriedOrder> => {
  try {
    await send(reads, order, target, signal);
  } catch (caught) {
    const error = inOurWords(caught, order);
    if (error instanceof Denied) return { ...target, denied: error.message };
    if (!(error instanceof Refused)) throw error;
  }
  return { ...target, denied: null };
};
