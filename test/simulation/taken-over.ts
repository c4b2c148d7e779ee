import { CSI_NODE_IDS } from '../../kubernetes/names.ts';
import { EBS } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBarePod, addNode } from '../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { addInstance } from '../../sandbox/ec2/scenario.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import type { Incident } from './incidents.ts';
import { freshRun, portsOver } from './ports.ts';
import { walk } from './walk.ts';

/**
 * The Node of a dead machine stays, and the kubelet of a new machine registers under its name. A providerID never
 * changes once it is set, so it still names the dead machine.
 */

/** The kubelet of the new machine has registered. Its CSI driver has not yet. */
export const takeOver = ({ world, scene }: Incident): string => {
  const name = scene.nodeOf(scene.holder);
  delete world.parts.cluster.memory.kubelets[scene.holder];
  const heir = addInstance(world);
  const zone = instanceIn(world, heir)?.zone ?? '';
  addNode(world, { name, machine: heir, providerID: `aws:///${zone}/${heir}`, zone, driver: EBS });
  return heir;
};

/** The CSI driver of the new machine has also registered: now the Node names both machines. */
export const driverRegisters = ({ world, scene }: Incident, heir: string): void => {
  const name = scene.nodeOf(scene.holder);
  const [node, csiNode] = [getObject(world, 'nodes', name), getObject(world, 'csinodes', name)];
  const by = writerAs(world, 'kubelet');
  if (node)
    by.change('nodes', node, (draft) => {
      draft.metadata.annotations = { ...draft.metadata.annotations, [CSI_NODE_IDS]: JSON.stringify({ [EBS]: heir }) };
    });
  if (csiNode)
    by.change('csinodes', csiNode, (draft) => {
      draft.spec.drivers = draft.spec.drivers.map((driver) => ({ ...driver, nodeID: heir }));
    });
};

/** A pod that runs on the new machine. Returns a function that says whether it still does. */
export const livingPod = ({ world, scene }: Incident): (() => string | undefined) => {
  addBarePod(world, { name: 'living', spec: { nodeName: scene.nodeOf(scene.holder) } });
  world.advance(12_000);
  return () => {
    const pod = getObject(world, 'pods', 'living', 'default');
    return pod && `${pod.status.phase}${pod.metadata.deletionTimestamp === undefined ? '' : ' going'}`;
  };
};

/** The run that was fencing the machine has died right after its mark. */
export const diedMarking = async ({ world, scene }: Incident): Promise<Incident> => {
  const { crossings } = await walk(world.fork(), freshRun(world, portsOver(world), { machine: scene.holder }));
  const at = crossings.find(({ known }) => known.record?.phase === 'fencing');
  if (!at) throw new Error('the fence never began');
  return { world: at.world, scene };
};
