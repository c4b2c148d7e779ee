import { DetachVolumeCommand, type EC2Client, StopInstancesCommand } from '@aws-sdk/client-ec2';
import { Refused } from '../../fencing/model/errors.ts';
import type { DiskId, MachineId } from '../../fencing/model/machine.ts';
import type { Permit } from '../../fencing/model/permit.ts';
import { type PermittedCall, underPermit } from '../../transport/under-permit.ts';
import type { Ec2Clients } from './client.ts';
import { isAttachedTo, readVolumes } from './disks.ts';
import { errorCodeOf, toCloudfenceError, withCloudfenceErrors } from './errors.ts';

/** The destructive calls of EC2, each sent once and with a permit. */

/** These codes may mean "already detached", but also "attached elsewhere" or "in another state". */
const PERHAPS_DONE = new Set(['IncorrectState', 'InvalidAttachment.NotFound', 'InvalidVolume.NotFound']);

const DETACH = 'ec2:DetachVolume';

interface DetachRequest {
  readonly machine: MachineId;
  readonly disk: DiskId;
  readonly mode: 'plain' | 'forced';
}

/**
 * Asks EC2 to detach the disk from exactly this machine. The InstanceId is the only compare-and-swap condition that EC2
 * offers. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DetachVolume.html
 *
 * @throws Unavailable, PermissionDenied, Refused, ProofExpired
 */
export const detachDisk = async (
  clients: Ec2Clients,
  request: DetachRequest,
  permit: Permit,
  signal: AbortSignal,
): Promise<void> => {
  const command = new DetachVolumeCommand({
    VolumeId: request.disk,
    InstanceId: request.machine,
    Force: request.mode === 'forced',
  });
  try {
    await sendPermitted(clients, { name: DETACH, permit, signal }, (client, sending) => client.send(command, sending));
  } catch (caught) {
    const code = errorCodeOf(caught);
    if (code === null || !PERHAPS_DONE.has(code)) throw toCloudfenceError(caught, DETACH);
    await confirmDetached(clients, request, caught, signal);
  }
};

const confirmDetached = async (
  clients: Ec2Clients,
  { machine, disk }: DetachRequest,
  refusal: unknown,
  signal: AbortSignal,
): Promise<void> => {
  const volumes = await readVolumes(clients.reads, [disk], signal);
  if (volumes.some((volume) => isAttachedTo(volume, machine))) {
    throw new Refused(`EC2 rejected ${DETACH}, and ${disk} is still attached to ${machine}`, { cause: refusal });
  }
};

const STOP = 'ec2:StopInstances';

/**
 * Stops the machine whether or not its operating system cooperates.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StopInstances.html
 *
 * @throws Unavailable, PermissionDenied, Refused, ProofExpired
 */
export const powerOffMachine = (
  clients: Ec2Clients,
  machine: MachineId,
  permit: Permit,
  signal: AbortSignal,
): Promise<void> =>
  withCloudfenceErrors(STOP, async () => {
    const command = new StopInstancesCommand({ InstanceIds: [machine], Force: true });
    await sendPermitted(clients, { name: STOP, permit, signal }, (client, sending) => client.send(command, sending));
  });

/** The last step before the request is sent. Signing comes before this step, and with it every wait for credentials. */
const AFTER_SIGNING = { step: 'deserialize', priority: 'low', name: 'checkPermit' } as const;

/** Sends a command with a separate client, and with the given send options. */
type Send = (client: EC2Client, sending: { readonly abortSignal: AbortSignal }) => Promise<unknown>;

/** Sends one destructive command. @throws ProofExpired, Unavailable, and any error of the SDK */
export const sendPermitted = (clients: Ec2Clients, call: PermittedCall, send: Send): Promise<unknown> =>
  underPermit(call, (passage) => {
    const client = clients.writes(passage);
    const checked =
      <Args, Result>(next: (args: Args) => Promise<Result>) =>
      (args: Args): Promise<Result> => {
        passage.check();
        return next(args);
      };
    client.middlewareStack.add(checked, AFTER_SIGNING);
    return send(client, { abortSignal: passage.signal });
  });
