import type { DrillCloud, DrilledMachine, Hazard } from '../../drill/ports.ts';
import { Refused } from '../../fencing/model/errors.ts';
import type { MachineTarget } from '../../fencing/model/machine.ts';
import { type ComputeClients, destructiveCallOptions } from './client.ts';
import type { Instance } from './disks.ts';
import { withCloudfenceErrors } from './errors.ts';
import { candidateNodeNames, instancePath, type InstancePath } from './identity.ts';
import { readInstance } from './look.ts';
import { missingMachinePermissions } from './plugin/permissions.ts';

/** The reads and calls of Compute Engine for a drill. The stop itself is the power-off of fencing. */

const START = 'compute.instances.start';

/** The path with the numeric id, which no later instance with the same name has. */
const exactPath = ({ machine, incarnation }: MachineTarget): InstancePath => {
  const named = instancePath(machine);
  if (!named || incarnation === null) throw new Refused(`${machine} is not a known instance of Compute Engine`);
  return { ...named, instance: incarnation };
};

const GROUP = /\/instanceGroupManagers\/([^/]+)$/;

/**
 * A managed instance group repairs an instance that it did not stop itself.
 * https://cloud.google.com/compute/docs/instance-groups/about-repair
 */
const groupHazard = (machine: string, { metadata }: Instance): readonly Hazard[] => {
  const creator = metadata?.items?.find(({ key }) => key === 'created-by')?.value ?? '';
  const group = GROUP.exec(creator)?.[1];
  return group === undefined
    ? []
    : [
        {
          group,
          says: `the managed instance group ${group} starts or replaces ${machine} when it stops`,
          remedy:
            `\`gcloud compute instance-groups managed update ` +
            `${group} --default-action-on-vm-failure=do-nothing\` with its zone or region, then add ` +
            `\`--suspended-group ${group}\`, and set it to \`repair\` after the drill`,
        },
      ];
};

const ownHazards = (machine: string, { scheduling, disks }: Instance): readonly Hazard[] => [
  ...(scheduling?.preemptible || scheduling?.provisioningModel === 'SPOT'
    ? [{ group: null, says: `${machine} is a Spot VM, which may not start again`, remedy: 'choose a standard VM' }]
    : []),
  ...(disks?.some(({ type }) => type === 'SCRATCH')
    ? [
        {
          group: null,
          says: `${machine} has local SSDs, and a stop deletes their data`,
          remedy: 'choose a VM without local SSDs',
        },
      ]
    : []),
];

const STOP = 'compute.instances.stop';

/** A machine that may not be started must not be stopped. */
const permissionHazard = async (
  clients: ComputeClients,
  machine: string,
  signal: AbortSignal,
): Promise<readonly Hazard[]> => {
  const missing = await missingMachinePermissions(clients, machine, [STOP, START], signal);
  return missing.length === 0
    ? []
    : [
        {
          group: null,
          says: `these credentials do not have ${missing.join(' and ')} on ${machine}`,
          remedy: 'grant them (docs/drill.md, "Permissions")',
        },
      ];
};

const inspect = async (
  clients: ComputeClients,
  target: MachineTarget,
  standIn: string | null,
  signal: AbortSignal,
): Promise<DrilledMachine> => {
  const { machine } = target;
  const path = exactPath(target);
  const instance = await readInstance(clients, path, signal);
  if (!instance) throw new Refused(`Compute Engine does not know ${machine}`);
  return {
    hazards: [
      ...groupHazard(machine, instance),
      ...ownHazards(machine, instance),
      ...(await permissionHazard(clients, machine, signal)),
    ],
    nodeNames: candidateNodeNames({ ...path, instance: instance.name ?? '' }, instance.hostname ?? ''),
    startCommand:
      `gcloud compute instances start ${instance.name ?? path.instance} --project ${path.project} --zone ` + path.zone,
    calls: ['compute.instances.get', STOP, START],
    standIn,
  };
};

/** Returns the drill functions for Compute Engine. `standIn` is the address of a stand-in, or null. */
export const gcpDrill = (clients: ComputeClients, standIn: string | null): DrillCloud => ({
  inspect: (target, signal) => inspect(clients, target, standIn, signal),
  start: async (target, permit, signal) => {
    const path = exactPath(target);
    await clients.permitted({ name: START, permit, signal }, (sending) =>
      withCloudfenceErrors(clients, START, sending.signal, () =>
        clients.instances.start({ ...path, requestId: sending.requestId }, destructiveCallOptions(sending.signal)),
      ),
    );
  },
});
