import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../config/environment.ts';
import { conductDrill } from '../../../drill/run.ts';
import { defaultPolicy } from '../../../fencing/model/policy.ts';
import { linkFromToken } from '../../../kubernetes/access.ts';
import { createCluster, openConnection } from '../../../kubernetes/cluster.ts';
import { callClock } from '../../../kubernetes/connection.ts';
import { createDrillCluster } from '../../../kubernetes/drill/cluster.ts';
import { ec2Clients } from '../../../providers/aws/client.ts';
import { awsDrill } from '../../../providers/aws/drill.ts';
import { awsCloud } from '../../../providers/aws/index.ts';
import { openOwnTestbed, type OwnTestbed } from '../../testbed/testbed.ts';
import { until } from '../../testbed/until.ts';
import type { TestbedNode } from '../../testbed/machines.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { openScene, type Scene } from '../scenes/scene.ts';
import { anyVolume, volumeOf } from '../scenes/volume.ts';

/** A drill with a real scheduler, real controllers, and the CLI instead of the functions. */

let testbed: OwnTestbed;
beforeAll(async () => {
  testbed = await openOwnTestbed();
});
afterAll(() => testbed?.close());

/** Nothing creates disks here, so the volume exists before the claim. */
const addDisk = async ({ testbed: { admin, ec2 }, namespace }: Scene): Promise<void> => {
  const volume = volumeOf(namespace, 'drill', await ec2.disk(null), { ...anyVolume, storageClassName: namespace });
  await admin.write('POST', '/apis/storage.k8s.io/v1/storageclasses', {
    metadata: { name: namespace },
    provisioner: 'kubernetes.io/no-provisioner',
    reclaimPolicy: 'Retain',
  });
  await admin.write('POST', '/api/v1/persistentvolumes', {
    ...volume,
    spec: { ...volume.spec, capacity: { storage: '10Gi' } },
  });
};

const label = ({ testbed: { admin } }: Scene, { name }: TestbedNode): Promise<unknown> =>
  admin.write(
    'PATCH',
    `/api/v1/nodes/${name}`,
    { metadata: { labels: { 'cloudfence.node-restriction.kubernetes.io/drill': 'allowed' } } },
    'application/merge-patch+json',
  );

/** A new Node has a taint until its controller has seen that it is Ready. */
const takesPods = ({ testbed: { admin } }: Scene, { name }: TestbedNode): Promise<unknown> =>
  until(`${name} takes pods`, async () => {
    const node = z.object({ spec: z.object({ taints: z.array(z.unknown()).optional() }) });
    const { spec } = node.parse(await admin.get(`/api/v1/nodes/${name}`));
    return (spec.taints ?? []).length === 0;
  });

/** The cluster and the cloud as a person reaches them. A machine of the testbed stops and starts with its kubelet. */
const toolsFor = (node: TestbedNode) => {
  const { server, ca, tokens, ec2 } = testbed.access;
  const link = linkFromToken({ server, ca, token: async () => tokens.admin });
  const cluster = createCluster({ name: 'bench', link, clock: callClock });
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const clients = ec2Clients({ ...ec2, credentials });
  return {
    cloud: { ...awsCloud({ clients, region: ec2.region }), powerOff: node.stop },
    drillCloud: { ...awsDrill([clients], ec2.endpoint), start: async () => node.start() },
    cluster,
    clusters: [cluster],
    drillCluster: createDrillCluster('bench', openConnection({ name: 'bench', link, clock: callClock })),
    clock: systemClock(),
    drill: 'e2e-drill',
  };
};

/** The CLI handles the machine again and again, as the functions do. */
const reacting =
  ({ instance }: TestbedNode) =>
  async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) await cloudfence(testbed.access, 'fence', instance, '--timeout', '20s');
  };

it('a drill moves its canary, measures each phase, and leaves only what the StorageClass keeps', async () => {
  const scene = await openScene(testbed, 'drill');
  const [home, spare] = [await scene.addNode(), await scene.addNode()];
  await Promise.all([addDisk(scene), label(scene, home), takesPods(scene, home), takesPods(scene, spare)]);
  const progressLines: string[] = [];
  const result = await conductDrill(
    {
      target: { node: home.name, machine: home.instance },
      canary: { namespace: scene.namespace, image: 'example.org/pause:1', storageClass: scene.namespace },
      checks: { policy: { ...defaultPolicy, cap: { share: 1, atOnce: 1 } }, suspendedGroup: null },
      timeout: 120_000,
      dryRun: false,
    },
    {
      ...toolsFor(home),
      signal: new AbortController().signal,
      giveUp: new AbortController().signal,
      tell: (says) => void progressLines.push(says),
      confirm: async () => true,
      fenceHere: reacting(home),
    },
  );
  expect(result, [result.says, ...progressLines].join('\n')).toMatchObject({ end: 'recovered', movedTo: spare.name });
  expect(result.recovery.map(({ phase }) => phase)).toEqual([
    'off',
    'marked',
    'pod-deleted',
    'detached',
    'attached',
    'running',
  ]);
  expect(result.left.map(({ says }) => says)).toEqual([
    expect.stringContaining(`StorageClass ${scene.namespace} keeps vol-`),
  ]);
  expect(scene.pods()).toEqual([]);
});
