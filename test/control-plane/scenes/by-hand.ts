import { node as nodeSchema } from '../../testbed/objects.ts';
import type { Stage } from './stage.ts';

/** What may happen to a fenced Node without Cloudfence. */
export type Intervention = (stage: Stage) => Promise<unknown>;

const nodePath = ({ home }: Stage): string => `/api/v1/nodes/${home.name}`;

const taintsWithout = async (stage: Stage, pattern: RegExp) => {
  const { spec } = nodeSchema.parse(await stage.scene.testbed.admin.get(nodePath(stage)));
  return spec.taints.filter(({ key }) => !pattern.test(key));
};

/** Its kubelet reports, although its machine is said to be off. */
export const renewLease: Intervention = ({ scene, home }) =>
  scene.testbed.admin
    .as(`system:node:${home.name}`, 'system:nodes')
    .write('PATCH', `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${home.name}`, {
      spec: { renewTime: new Date().toISOString().replace('Z', '000Z') },
    });

/** Its kubelet removes what it can of a fence: the record, but neither a label nor a taint. */
export const removeRecord: Intervention = (stage) =>
  stage.scene.testbed.admin
    .as(`system:node:${stage.home.name}`, 'system:nodes')
    .write('PATCH', nodePath(stage), { metadata: { annotations: { 'cloudfence.dev/fence': null } } });

/** Its kubelet changes the record, as if a person were releasing the Node. */
export const changeRecord: Intervention = async (stage) => {
  const { metadata } = nodeSchema.parse(await stage.scene.testbed.admin.get(nodePath(stage)));
  const record: unknown = JSON.parse(metadata.annotations['cloudfence.dev/fence'] ?? '{}');
  const changed = JSON.stringify(Object.assign({}, record, { phase: 'releasing', generation: null }));
  await stage.scene.testbed.admin
    .as(`system:node:${stage.home.name}`, 'system:nodes')
    .write('PATCH', nodePath(stage), { metadata: { annotations: { 'cloudfence.dev/fence': changed } } });
};

export const removeTaint: Intervention = async (stage) =>
  stage.scene.testbed.admin.write('PATCH', nodePath(stage), {
    spec: { taints: await taintsWithout(stage, /out-of-service/) },
  });

/**
 * Someone puts the Node out of service as the Kubernetes documentation describes, or as Azure's cloud controller does.
 */
export const putOutOfService =
  (effect: 'NoSchedule' | 'NoExecute'): Intervention =>
  async (stage) => {
    const theirs = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect };
    await stage.scene.testbed.admin.write('PATCH', nodePath(stage), {
      spec: { taints: [...(await taintsWithout(stage, /out-of-service/)), theirs] },
    });
  };

export const removeFence: Intervention = async (stage) => {
  const metadata = {
    annotations: { 'cloudfence.dev/fence': null },
    labels: { 'cloudfence.node-restriction.kubernetes.io/fenced': null },
  };
  await stage.scene.testbed.admin.write('PATCH', nodePath(stage), {
    metadata,
    spec: { taints: await taintsWithout(stage, /out-of-service|quarantine/) },
  });
};
