import type { Testbed } from '../../testbed/testbed.ts';
import type { TestbedNode, Registration } from '../../testbed/machines.ts';
import { addMachine } from '../../testbed/machines.ts';
import { node as nodeSchema } from '../../testbed/objects.ts';
import type { Scene } from './scene.ts';
import { openScene } from './scene.ts';
import { lonePod, on } from './workload.ts';
import { podsOn } from './world.ts';

/** Kubernetes itself marks a silent Node. */
const OURS = /cloudfence|out-of-service/;

/** The smallest scene that can be fenced: one node with one pod and without a volume. */
export interface LonePodScene {
  readonly scene: Scene;
  readonly home: TestbedNode;
  readonly nodePath: string;
  /** The Node's taints, labels, and annotations that concern a fence, and its pods. */
  readonly seen: () => Promise<object>;
}

export const openLone = async (
  testbed: Testbed,
  title: string,
  registration: Registration = {},
): Promise<LonePodScene> => {
  const scene = await openScene(testbed, title);
  const home = await addMachine(testbed, scene.namespace, registration);
  await scene.create(lonePod('lone', { spec: on(home.name) }));
  await scene.runs('lone', home);
  const nodePath = `/api/v1/nodes/${home.name}`;
  return {
    scene,
    home,
    nodePath,
    seen: async () => ({ pods: podsOn(scene, [home]), ...(await marksOn(testbed, nodePath)) }),
  };
};

const ours = (texts: Readonly<Record<string, string>>) => Object.entries(texts).filter(([key]) => OURS.test(key));

const marksOn = async ({ admin }: Testbed, path: string) => {
  const { metadata, spec } = nodeSchema.parse(await admin.get(path));
  return {
    taints: spec.taints.filter(({ key }) => OURS.test(key)),
    labels: ours(metadata.labels),
    annotations: ours(metadata.annotations),
  };
};
