import { DetachVolumeCommand } from '@aws-sdk/client-ec2';
import { Refused } from '../../fencing/errors.ts';
import type { DiskId, MachineId } from '../../fencing/machine.ts';
import type { Permit } from '../../fencing/permit.ts';
import type { Ec2Clients } from './client.ts';
import { codeOf, inOurWords } from './errors.ts';
import { permitted } from './permitted.ts';
import { names, volumesById } from './volumes-by-id.ts';

/** Answers that may mean "already detached", and may mean "attached elsewhere", or "in another state". */
const PERHAPS_DONE = new Set(['IncorrectState', 'InvalidAttachment.NotFound', 'InvalidVolume.NotFound']);

const CALL = 'ec2:DetachVolume';

export interface DetachOrder {
  readonly machine: MachineId;
  readonly disk: DiskId;
  readonly manner: 'plain' | 'forced';
}

/**
 * Asks EC2 to detach the disk from this very machine: the InstanceId is the only compare-and-swap that EC2 has.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DetachVolume.html
 *
 * @throws Unavailable, Denied, Refused, ProofExpired
 */
export const detach = async (clients: Ec2Clients, order: DetachOrder, permit: Permit, signal: AbortSignal): Promise<void> => {
  const command = new DetachVolumeCommand({ VolumeId: order.disk, InstanceId: order.machine, Force: order.manner === 'forced' });
  try {
    await permitted(clients, { name: CALL, permit, signal }, (client, sending) => client.send(command, sending));
  } catch (caught) {
    const code = codeOf(caught);
    if (code === null || !PERHAPS_DONE.has(code)) throw inOurWords(caught, CALL);
    await confirmDetached(clients, order, caught, signal);
  }
};

const confirmDetached = async (clients: Ec2Clients, { machine, disk }: DetachOrder, refusal: unknown, signal: AbortSignal): Promise<void> => {
  const volumes = await volumesById(clients.reads, [disk], signal);
  if (volumes.some((volume) => names(volume, machine))) {
    throw new Refused(`${CALL} was declined and ${disk} still names ${machine}`, { cause: refusal });
  }
};
