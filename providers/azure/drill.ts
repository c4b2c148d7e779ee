import type { DrillCloud, DrilledMachine, Hazard } from '../../drill/ports.ts';
import { PermissionDenied, Refused } from '../../fencing/model/errors.ts';
import type { MachineTarget } from '../../fencing/model/machine.ts';
import type { Permit } from '../../fencing/model/permit.ts';
import { sendUnderPermit } from './actions.ts';
import type { AzureClients } from './client.ts';
import { withCloudfenceErrors } from './errors.ts';
import type { MachinePath } from './identity.ts';
import { readIncarnation, sendStart, type Vm } from './machines.ts';
import { nodeNamesOf } from './power.ts';
import { missingActions, type PermissionOptions } from './plugin/permissions.ts';

/**
 * The reads and calls of Azure for a drill. The stop is the power-off of fencing, which leaves the machine allocated.
 */

const SPOT_HAZARD: Hazard = {
  group: null,
  says: 'the machine is a Spot VM, which may not start again',
  remedy: 'choose a regular VM',
};

/**
 * A power-off leaves the machine on its host, with its temporary disk. An OS disk on the host is lost as soon as Azure
 * or a person moves the machine to another host to start it. The machine then begins again from its image, or not at
 * all. https://learn.microsoft.com/azure/virtual-machines/ephemeral-os-disks
 */
const ephemeralHazard = ({ storageProfile }: Vm): readonly Hazard[] =>
  storageProfile?.osDisk?.diffDiskSettings?.option?.toLowerCase() === 'local'
    ? [
        {
          group: null,
          says: 'the machine has an ephemeral OS disk, which is lost if its host cannot start it again',
          remedy: 'choose a Node with a managed OS disk',
        },
      ]
    : [];

/**
 * A scale set replaces its instance only if automatic repairs are on.
 * https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-automatic-instance-repairs
 */
const groupHazard = async (
  { reads }: AzureClients,
  set: { readonly group: string; readonly name: string } | null,
  signal: AbortSignal,
): Promise<readonly Hazard[]> => {
  if (!set) return [];
  const found = await withCloudfenceErrors('virtualMachineScaleSets/read', () =>
    reads.virtualMachineScaleSets.get(set.group, set.name, { abortSignal: signal }),
  );
  if (found.automaticRepairsPolicy?.enabled !== true) return [];
  const off = `az vmss update --resource-group ${set.group} --name ${set.name} --enable-automatic-repairs false`;
  return [
    {
      group: set.name,
      says: `the scale set ${set.name} repairs or replaces its instances when they stop`,
      remedy: `\`${off}\`, then add \`--suspended-group ${set.name}\`, and switch the repairs on again after the drill`,
    },
  ];
};

const MEMBER = /\/resourcegroups\/([^/]+)\/providers\/microsoft\.compute\/virtualmachinescalesets\/([^/]+)$/i;

/** Returns the scale set of the machine, uniform or flexible. */
const scaleSetOf = (path: MachinePath, { virtualMachineScaleSet }: Vm) => {
  if (path.kind === 'instance') return { group: path.group, name: path.set };
  const [, group, name] = MEMBER.exec(virtualMachineScaleSet?.id ?? '') ?? [];
  return group === undefined || name === undefined ? null : { group, name };
};

const permissionHazard = (says: string, remedy: string): readonly Hazard[] => [
  { group: null, says, remedy: `${remedy} (docs/drill.md, "Permissions")` },
];

/**
 * A machine that may not be started must not be stopped. If the credentials may not read their own permissions, that
 * does not prove that they may start the machine.
 * @throws Unavailable, Refused
 */
const permissionHazards = async (
  options: PermissionOptions,
  { machine }: MachineTarget,
  wanted: readonly string[],
  signal: AbortSignal,
): Promise<readonly Hazard[]> => {
  try {
    const missing = await missingActions(options, machine, wanted, signal);
    if (missing.length === 0) return [];
    return permissionHazard(`these credentials do not have ${missing.join(' and ')} on ${machine}`, 'grant them');
  } catch (error) {
    if (!(error instanceof PermissionDenied)) throw error;
    return permissionHazard(
      `it is not known whether these credentials may start ${machine}: ${error.message}`,
      'grant that',
    );
  }
};

const startCommandOf = (path: MachinePath): string =>
  path.kind === 'vm'
    ? `az vm start --resource-group ${path.group} --name ${path.name}`
    : `az vmss start --resource-group ${path.group} --name ${path.set} --instance-ids ${path.instance}`;

const holderOf = async (clients: AzureClients, target: MachineTarget, signal: AbortSignal) => {
  const holder = await readIncarnation(clients, target, { signal, withPowerState: false });
  if (holder.said === 'other') throw new Refused(`a drill does not stop ${target.machine}: ${holder.why}`);
  return holder;
};

const inspect = async (
  clients: AzureClients,
  target: MachineTarget,
  options: PermissionOptions,
  signal: AbortSignal,
): Promise<DrilledMachine> => {
  const { path, vm } = await holderOf(clients, target, signal);
  const kind = path.kind === 'vm' ? 'virtualMachines' : 'virtualMachineScaleSets/virtualMachines';
  const orders = ['powerOff/action', 'start/action'].map((call) => `Microsoft.Compute/${kind}/${call}`);
  return {
    hazards: [
      ...(await groupHazard(clients, scaleSetOf(path, vm), signal)),
      ...(vm.priority === 'Spot' ? [SPOT_HAZARD] : []),
      ...ephemeralHazard(vm),
      ...(await permissionHazards(options, target, orders, signal)),
    ],
    nodeNames: nodeNamesOf(vm),
    startCommand: startCommandOf(path),
    calls: [`Microsoft.Compute/${kind}/read`, ...orders],
    standIn: options.endpoint,
  };
};

const start = async (
  clients: AzureClients,
  target: MachineTarget,
  permit: Permit,
  signal: AbortSignal,
): Promise<void> => {
  const { path } = await holderOf(clients, target, signal);
  await sendUnderPermit(clients, { name: 'start/action', permit, signal }, (client, options) =>
    sendStart(client, path, options),
  );
};

/** Returns what a drill needs of Azure. Another endpoint is a stand-in for ARM. */
export const azureDrill = (clients: AzureClients, options: PermissionOptions): DrillCloud => ({
  inspect: (target, signal) => inspect(clients, target, options, signal),
  start: (target, permit, signal) => start(clients, target, permit, signal),
});
