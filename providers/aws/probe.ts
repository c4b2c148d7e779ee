import { DetachVolumeCommand, StopInstancesCommand } from '@aws-sdk/client-ec2';
import type { EC2Client } from '@aws-sdk/client-ec2';
import { Denied, Refused } from '../../fencing/errors.ts';
import type { Ec2Clients } from './client.ts';
import { inOurWords } from './errors.ts';
import { look } from './look.ts';

/** Ids that EC2 never gave out: asking for them shows whether we may ask. */
const NOBODYS_INSTANCE = 'i-00000000000000000';
const NOBODYS_VOLUME = 'vol-00000000000000000';

export interface ProbedVerb {
  readonly verb: 'ec2:DetachVolume' | 'ec2:StopInstances';
  readonly denied: boolean;
}

/**
 * A dry run changes nothing, and never ends well: it says that the call would have succeeded, that it is denied, or what
 * is wrong with it. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonParameters.html
 */
const probed = async (verb: ProbedVerb['verb'], call: () => Promise<unknown>): Promise<ProbedVerb> => {
  try {
    await call();
  } catch (caught) {
    const error = inOurWords(caught, verb);
    if (error instanceof Denied) return { verb, denied: true };
    if (!(error instanceof Refused)) throw error;
  }
  return { verb, denied: false };
};

const probeVerbs = (client: EC2Client, signal: AbortSignal): Promise<readonly ProbedVerb[]> => {
  const sending = { abortSignal: signal };
  return Promise.all([
    probed('ec2:DetachVolume', () => client.send(new DetachVolumeCommand({ DryRun: true, VolumeId: NOBODYS_VOLUME, InstanceId: NOBODYS_INSTANCE }), sending)),
    probed('ec2:StopInstances', () => client.send(new StopInstancesCommand({ DryRun: true, InstanceIds: [NOBODYS_INSTANCE], Force: true }), sending)),
  ]);
};

/**
 * Whether we may do what a fence needs, as far as EC2 says so without harm: reads are made, verbs are only tried.
 *
 * @throws Denied, Unavailable when a read is not answered
 */
export const probe = async ({ reads }: Ec2Clients, region: string, signal: AbortSignal): Promise<readonly ProbedVerb[]> => {
  await look(reads, region, [NOBODYS_INSTANCE], { disks: true }, signal);
  return probeVerbs(reads, signal);
};
