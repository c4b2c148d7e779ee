import { describe, expect, it } from 'vitest';
import { createAzureSandbox, type AzureWorld } from '../../../sandbox/azure-sandbox.ts';
import { deallocate, remove, start } from '../../../sandbox/azure/machines.ts';
import { addMachine } from '../../../sandbox/azure/scenario.ts';
import { diskIn, machineIn, type Machine } from '../../../sandbox/azure/state.ts';
import { writerAs } from '../../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../../sandbox/cluster/get-objects.ts';
import { isReady } from '../../../sandbox/cluster/controllers/nodes.ts';
import { addTaint, outOfService } from '../../../sandbox/cluster/controllers/taints.ts';
import { addNodeOf, azureDatabaseOnTwoNodes, nodeNameOf } from '../../../sandbox/scenes/azure-database.ts';

const scene = () => {
  const world = createAzureSandbox({ seed: 1, now: Date.UTC(2026, 10, 21) });
  return { world, ...azureDatabaseOnTwoNodes(world) };
};

const change = (
  world: AzureWorld,
  id: string,
  apply: (world: AzureWorld, machine: Machine) => unknown,
  wait: number,
): void => {
  const machine = machineIn(world, id);
  if (machine) apply(world, machine);
  world.advance(wait);
};

const fence = (world: AzureWorld, name: string): void => {
  const writer = writerAs(world, 'person');
  const node = getObject(world, 'nodes', name);
  const pod = getObject(world, 'pods', 'db-0', 'default');
  if (node)
    writer.change('nodes', node, (draft) =>
      addTaint(draft, { key: outOfService, value: 'nodeshutdown', effect: 'NoSchedule' }),
    );
  if (pod) writer.remove('pods', pod, 0);
};

describe('the cluster on Azure', () => {
  it('names its nodes as Azure does, one of them with its ID in the other byte order', () => {
    const { world, holder, spare } = scene();
    for (const machine of [holder, spare]) {
      const name = nodeNameOf(world, machine);
      expect(getObject(world, 'csinodes', name)?.spec.drivers).toMatchObject([
        { name: 'disk.csi.azure.com', nodeID: name },
      ]);
      expect(getObject(world, 'nodes', name)?.spec.providerID).toMatch(
        /^azure:\/\/\/subscriptions\/[^/]+\/resourceGroups\/mc_sandbox\/providers\/Microsoft\.Compute\/virtualMachineScaleSets\/aks-Pool-vmss\/virtualMachines\/[01]$/,
      );
    }
    const uuids = [holder, spare].map(
      (machine) => getObject(world, 'nodes', nodeNameOf(world, machine))?.status.nodeInfo?.systemUUID,
    );
    expect(new Set(uuids)).toEqual(
      new Set(['D4C3B2A1-F6E5-1847-8A9B-000000000001', 'a1b2c3d4-e5f6-4718-8a9b-000000000003']),
    );
  });

  it('moves the volume of a deallocated machine to the other one without a violation', () => {
    const { world, disk, holder, spare } = scene();
    change(world, holder, deallocate, 60_000);
    expect(machineIn(world, holder)?.power).toBe('deallocated');
    fence(world, nodeNameOf(world, holder));
    world.advance(60_000);
    expect(diskIn(world, disk)?.attachments.map(({ machine, state }) => ({ machine, state }))).toEqual([
      { machine: spare, state: 'attached' },
    ]);
    expect(getObject(world, 'pods', 'db-0', 'default')).toMatchObject({
      spec: { nodeName: nodeNameOf(world, spare) },
      status: { phase: 'Running' },
    });
    expect(world.parts.azure.violations).toEqual([]);
  });

  it('has the node back with another bootID after a deallocation and a start', () => {
    const { world, holder } = scene();
    const name = nodeNameOf(world, holder);
    const before = getObject(world, 'nodes', name)?.status.nodeInfo?.bootID;
    change(world, holder, deallocate, 120_000);
    change(world, holder, start, 60_000);
    const node = getObject(world, 'nodes', name);
    expect(node && isReady(node)).toBe(true);
    expect(node?.status.nodeInfo?.bootID).not.toBe(before);
  });

  it('has the next machine of a name on the previous one’s Node, with its own ID', () => {
    const world = createAzureSandbox({ seed: 1, now: Date.UTC(2026, 10, 21) });
    const machine = addMachine(world, { name: 'db-0' });
    addNodeOf(world, machine, { older: false });
    world.advance(60_000);
    const before = getObject(world, 'nodes', 'db-0')?.status.nodeInfo;
    change(world, machine, remove, 60_000);
    expect(addMachine(world, { name: 'db-0' })).toBe(machine);
    addNodeOf(world, machine, { older: false });
    world.advance(60_000);
    const node = getObject(world, 'nodes', 'db-0');
    expect(node && isReady(node)).toBe(true);
    expect(node?.status.nodeInfo?.systemUUID).not.toBe(before?.systemUUID);
    expect(node?.status.nodeInfo?.bootID).not.toBe(before?.bootID);
  });
});
