import { node as nodeSchema } from '../../testbed/objects.ts';
import type { TestbedNode } from '../../testbed/machines.ts';
import type { Scene } from './scene.ts';

/**
 * What a kubelet shows the API server about a pod that it runs from a file.
 * https://kubernetes.io/docs/tasks/configure-pod-container/static-pod/
 */
export const addMirrorPod = async (
  { testbed, namespace }: Scene,
  name: string,
  { name: nodeName }: TestbedNode,
): Promise<void> => {
  const { metadata } = nodeSchema.parse(await testbed.admin.get(`/api/v1/nodes/${nodeName}`));
  const hash = 'a8f5f167f44f4964e6c998dee827110c';
  const manifest = {
    metadata: {
      name: `${name}-${nodeName}`,
      annotations: {
        'kubernetes.io/config.mirror': hash,
        'kubernetes.io/config.hash': hash,
        'kubernetes.io/config.source': 'file',
      },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: metadata.uid, controller: true }],
    },
    spec: { nodeName, containers: [{ name, image: 'example.org/static:1' }] },
  };
  await testbed.admin
    .as(`system:node:${nodeName}`, 'system:nodes')
    .write('POST', `/api/v1/namespaces/${namespace}/pods`, manifest);
};
