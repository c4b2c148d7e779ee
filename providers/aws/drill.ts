import {
  DescribeInstancesCommand,
  DescribeInstanceTypesCommand,
  type Instance,
  StartInstancesCommand,
} from '@aws-sdk/client-ec2';
import type { DrillCloud, DrilledMachine, Hazard } from '../../drill/ports.ts';
import { PermissionDenied, Refused } from '../../fencing/model/errors.ts';
import type { MachineId } from '../../fencing/model/machine.ts';
import { sendPermitted } from './actions.ts';
import { type Ec2Clients, requireList } from './client.ts';
import { toCloudfenceError, withCloudfenceErrors } from './errors.ts';

/** The reads and calls of EC2 for a drill. The stop itself is the power-off of fencing. */

const DESCRIBE = 'ec2:DescribeInstances';
const DESCRIBE_TYPES = 'ec2:DescribeInstanceTypes';
const START = 'ec2:StartInstances';

const tagOf = ({ Tags }: Instance, key: string): string | null => Tags?.find(({ Key }) => Key === key)?.Value ?? null;

/**
 * An Auto Scaling group replaces an instance that is not running.
 * https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-health-checks.html
 */
const groupHazard = (instance: Instance): readonly Hazard[] => {
  const group = tagOf(instance, 'aws:autoscaling:groupName');
  return group === null
    ? []
    : [
        {
          group,
          says: `the Auto Scaling group ${group} replaces ${instance.InstanceId} when it stops`,
          remedy:
            `\`aws autoscaling suspend-processes --auto-scaling-group-name ${group} --scaling-processes ` +
            `HealthCheck ReplaceUnhealthy\`, then add \`--suspended-group ${group}\`, and resume the processes ` +
            'after the drill',
        },
      ];
};

const ownHazards = (instance: Instance): readonly Hazard[] => [
  ...(instance.InstanceLifecycle === 'spot'
    ? [
        {
          group: null,
          says: `${instance.InstanceId} is a Spot instance, which may not start again`,
          remedy: 'choose an On-Demand instance',
        },
      ]
    : []),
  ...(tagOf(instance, 'karpenter.sh/nodeclaim') === null
    ? []
    : [
        {
          group: null,
          says: `Karpenter manages ${instance.InstanceId} and may replace it`,
          remedy: 'choose a Node that Karpenter does not manage',
        },
      ]),
  ...(instance.RootDeviceType === 'instance-store'
    ? [
        {
          group: null,
          says: `${instance.InstanceId} cannot be stopped: its root disk is an instance store`,
          remedy: 'choose another Node',
        },
      ]
    : []),
];

const readInstance = async ({ reads }: Ec2Clients, machine: MachineId, signal: AbortSignal): Promise<Instance> => {
  const answer = await withCloudfenceErrors(DESCRIBE, () =>
    reads.send(new DescribeInstancesCommand({ InstanceIds: [machine] }), { abortSignal: signal }),
  );
  const found = requireList(answer.Reservations, DESCRIBE).flatMap(({ Instances }) => Instances ?? []);
  const [instance, second] = found.filter(({ InstanceId }) => InstanceId === machine);
  if (!instance || second) throw new Refused(`EC2 does not describe ${machine}`);
  return instance;
};

/**
 * A machine that may not be started must not be stopped. A dry run checks only the permission.
 * @throws Unavailable
 */
const startHazard = async (
  { reads }: Ec2Clients,
  machine: MachineId,
  signal: AbortSignal,
): Promise<readonly Hazard[]> => {
  const order = new StartInstancesCommand({ DryRun: true, InstanceIds: [machine] });
  try {
    await reads.send(order, { abortSignal: signal });
  } catch (caught) {
    const error = toCloudfenceError(caught, START);
    if (error instanceof PermissionDenied)
      return [
        {
          group: null,
          says: `the drill could not start ${machine} again: ${error.message}`,
          remedy: `grant ${START} (docs/drill.md, "Permissions")`,
        },
      ];
    if (!(error instanceof Refused)) throw error;
  }
  return [];
};

const storeHazard = (says: string, remedy: string): readonly Hazard[] => [{ group: null, says, remedy }];

const CHOOSE_TYPE = 'choose a Node whose instance type has no instance store';

/**
 * A stop deletes the data on instance-store volumes, and the description of an instance does not list them. So the
 * instance type is checked: NVMe types have their volumes whatever the block device mapping contains.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-store-lifetime.html
 * @throws Unavailable
 */
const instanceStoreHazard = async (
  { reads }: Ec2Clients,
  { InstanceId = '', InstanceType: type }: Instance,
  signal: AbortSignal,
): Promise<readonly Hazard[]> => {
  if (type === undefined)
    return storeHazard(
      `EC2 does not say of which type ${InstanceId} is, so it may have an instance store`,
      CHOOSE_TYPE,
    );
  try {
    const answer = await withCloudfenceErrors(DESCRIBE_TYPES, () =>
      reads.send(new DescribeInstanceTypesCommand({ InstanceTypes: [type] }), { abortSignal: signal }),
    );
    const found = requireList(answer.InstanceTypes, DESCRIBE_TYPES).find(({ InstanceType }) => InstanceType === type);
    if (found?.InstanceStorageSupported === false) return [];
    return found?.InstanceStorageSupported === true
      ? storeHazard(`${InstanceId} is a ${type}, whose instance-store volumes lose their data in a stop`, CHOOSE_TYPE)
      : storeHazard(`EC2 does not say whether a ${type} such as ${InstanceId} has an instance store`, CHOOSE_TYPE);
  } catch (error) {
    if (!(error instanceof PermissionDenied)) throw error;
    return storeHazard(
      `it is not known whether ${InstanceId} (${type}) has instance-store volumes: ${error.message}`,
      `grant ${DESCRIBE_TYPES} (docs/drill.md, "Permissions")`,
    );
  }
};

/** Finds the account and region that know the machine. All other territories reject the call. */
const ownerOf = async (served: readonly Ec2Clients[], machine: MachineId, signal: AbortSignal) => {
  const declined: Refused[] = [];
  for (const clients of served) {
    try {
      return { clients, instance: await readInstance(clients, machine, signal) };
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      declined.push(error);
    }
  }
  throw new Refused(`EC2 does not know ${machine}`, { cause: declined });
};

const inspect = async (
  served: readonly Ec2Clients[],
  machine: MachineId,
  standIn: string | null,
  signal: AbortSignal,
): Promise<DrilledMachine> => {
  const { clients, instance } = await ownerOf(served, machine, signal);
  const asked = await Promise.all([
    instanceStoreHazard(clients, instance, signal),
    startHazard(clients, machine, signal),
  ]);
  return {
    hazards: [...groupHazard(instance), ...ownHazards(instance), ...asked.flat()],
    nodeNames: instance.PrivateDnsName ? [instance.PrivateDnsName.toLowerCase()] : [],
    startCommand: `aws ec2 start-instances --instance-ids ${machine}`,
    calls: [DESCRIBE, DESCRIBE_TYPES, 'ec2:StopInstances', START],
    standIn,
  };
};

/**
 * Returns the drill functions for these accounts and regions. `standIn` is the address of a stand-in for EC2, or null.
 */
export const awsDrill = (served: readonly Ec2Clients[], standIn: string | null): DrillCloud => ({
  inspect: ({ machine }, signal) => inspect(served, machine, standIn, signal),
  start: ({ machine }, permit, signal) =>
    withCloudfenceErrors(START, async () => {
      const { clients } = await ownerOf(served, machine, signal);
      const command = new StartInstancesCommand({ InstanceIds: [machine] });
      await sendPermitted(clients, { name: START, permit, signal }, (client, sending) => client.send(command, sending));
    }),
});
