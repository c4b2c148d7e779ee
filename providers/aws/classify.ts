import type { Instance } from '@aws-sdk/client-ec2';
import type { Power } from '../../fencing/machine.ts';

export interface Classified {
  readonly power: Power;
  readonly forGood: boolean;
}

/**
 * Reasons that say plain shutdown, for machines that could have hibernated instead. `Server.SpotInstanceShutdown` is
 * missing on purpose: EC2 hibernates interrupted Spot instances too and documents no other code for it.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html
 */
const PLAIN_SHUTDOWN: ReadonlySet<string> = new Set([
  'Client.UserInitiatedShutdown',
  'Client.InstanceInitiatedShutdown',
  'Server.ScheduledStop',
  'Server.InternalError',
]);

/**
 * What EC2's answer proves. Only `stopped` and `terminated` prove anything; a machine that may lie hibernated has
 * memory that writes again within seconds of a resume.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-lifecycle.html
 */
export const classify = (instance: Pick<Instance, 'State' | 'StateReason' | 'HibernationOptions'>): Classified => {
  switch (instance.State?.Name) {
    case 'running':
      return alive('running');
    case 'pending':
      return alive('starting');
    case 'stopping':
    case 'shutting-down':
      return alive('stopping');
    case 'stopped':
      return alive(mayBeHibernated(instance) ? 'suspended' : 'off');
    case 'terminated':
      return { power: 'off', forGood: true };
    case undefined:
    default:
      return alive('unknown');
  }
};

const alive = (power: Power): Classified => ({ power, forGood: false });

/** Not knowing whether it can hibernate counts as being able to; a reason that says that it did is believed in any case. */
const mayBeHibernated = ({ HibernationOptions, StateReason }: Pick<Instance, 'StateReason' | 'HibernationOptions'>): boolean =>
  StateReason?.Code === 'Client.UserInitiatedHibernate' || (HibernationOptions?.Configured !== false && !PLAIN_SHUTDOWN.has(StateReason?.Code ?? ''));
