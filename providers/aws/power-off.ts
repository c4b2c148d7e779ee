import { StopInstancesCommand } from '@aws-sdk/client-ec2';
import type { MachineId } from '../../fencing/machine.ts';
import type { Permit } from '../../fencing/permit.ts';
import type { Ec2Clients } from './client.ts';
import { translated } from './errors.ts';
import { permitted } from './permitted.ts';

const CALL = 'ec2:StopInstances';

/**
 * Stops the machine whether or not its operating system goes along.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StopInstances.html
 *
 * @throws Unavailable, Denied, Refused, ProofExpired
 */
export const powerOff = (clients: Ec2Clients, machine: MachineId, permit: Permit, signal: AbortSignal): Promise<void> =>
  translated(CALL, async () => {
    const command = new StopInstancesCommand({ InstanceIds: [machine], Force: true });
    await permitted(clients, { name: CALL, permit, signal }, (client, sending) => client.send(command, sending));
  });
