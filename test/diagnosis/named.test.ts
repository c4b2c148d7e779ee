import { describe, expect, it } from 'vitest';
import { searchPorts } from '../../app/search-ports.ts';
import { machineNamed, findFence, listFences } from '../../diagnosis/by-name.ts';
import { run } from '../../fencing/loop/run.ts';
import { EBS, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { listObjects } from '../../sandbox/cluster/get-objects.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { nodeGone, stage, stopped } from '../simulation/incidents.ts';
import { freshRun, portsOver } from '../simulation/ports.ts';
import { denying, diagnoseWith, withSilentCluster } from './sandbox-diagnosis.ts';
import { diagnoseSandbox, edit, toolsOver } from './ec2-diagnosis.ts';
import { addClaim, addPod, addUnplaced, twoNodes } from './scenes.ts';

/** Which machine a name leads to, and that nothing is guessed. */

const machineOf = async (world: AwsWorld, target: string, troubles = {}) =>
  machineNamed(target, searchPorts(await toolsOver(world, troubles)));
const fenceOf = async (world: AwsWorld, target: string) => findFence(target, searchPorts(await toolsOver(world)));

/** The machine of `db-0` is off, and a pod that replaces it waits on the other Node. */
const replaced = () => {
  const incident = stopped();
  incident.world.advance(360_000);
  const [pod] = listObjects(incident.world, 'pods');
  if (pod) writerAs(incident.world, 'person').remove('pods', pod, 0);
  incident.world.advance(30_000);
  return incident;
};

describe('a machine is named by', () => {
  it.each([
    ['its id', 'i-00000000000000001'],
    ['its Node', 'ip-10-0-0-11.eu-west-1.compute.internal'],
    ['its Node, said to be one', 'node/ip-10-0-0-11.eu-west-1.compute.internal'],
    ['its pod', 'pod/default/db-0'],
    ['its pod, in the default namespace', 'pod/db-0'],
    ['the claim of its pod', 'pvc/default/data-db-0'],
    ['the volume that is attached to it', 'pv/pvc-default-data-db-0'],
    ['the disk of that volume', 'vol-00000000000000005'],
  ])('%s', async (_, target) => {
    const { world, scene } = stopped();
    expect((await machineOf(world, target)).machine).toBe(scene.holder);
  });

  it.each(['pod/default/db-0', 'pvc/default/data-db-0'])(
    '%s that waits elsewhere: the machine that has the volume, and not the one of the pod',
    async (target) => {
      const { world, scene } = replaced();
      expect((await machineOf(world, target)).machine).toBe(scene.holder);
    },
  );

  it.each(['node/ip-10-0-0-11.eu-west-1.compute.internal', 'ip-10-0-0-11.eu-west-1.compute.internal'])(
    '%s, which is gone, because of the attachments that it left',
    async (target) => {
      const { world, scene } = nodeGone();
      expect((await machineOf(world, target)).machine).toBe(scene.holder);
    },
  );

  it('a volume that Kubernetes attached nowhere, because of what the cloud says about its disk', async () => {
    const { world, scene } = stopped();
    for (const attachment of listObjects(world, 'volumeattachments'))
      delete world.parts.cluster.objects.volumeattachments[`/${attachment.metadata.name}`];
    for (const pod of listObjects(world, 'pods'))
      delete world.parts.cluster.objects.pods[`default/${pod.metadata.name}`];
    expect(await machineOf(world, 'pv/pvc-default-data-db-0')).toMatchObject({ machine: scene.holder, node: null });
  });

  it('a pod without volumes, because of its Node', async () => {
    const { world, node, scene } = twoNodes();
    addPod(world, 'app', node);
    edit(world, 'pods', ['app', 'default'], ({ spec }) => void (spec.volumes = []));
    settle(world);
    expect((await machineOf(world, 'pod/default/app')).machine).toBe(scene.spare);
  });
});

describe('no machine is guessed if', () => {
  it('a pod waits for volumes of two machines', async () => {
    const { world, node, other } = twoNodes();
    addClaim(world, 'second');
    addPod(world, 'one', node);
    addPod(world, 'two', other, 'second');
    settle(world);
    addUnplaced(world, '0/2 nodes are available');
    edit(world, 'pods', ['app', 'default'], ({ spec }) => {
      spec.volumes = [...(spec.volumes ?? []), { name: 'more', persistentVolumeClaim: { claimName: 'second' } }];
    });
    await expect(machineOf(world, 'pod/default/app')).rejects.toThrow(
      /pod default\/app leads to 2 machines: i-\w+ \(.*\), i-\w+ \(.*\)\. Name one of them/s,
    );
  });

  it('two PersistentVolumes name the disk, and different machines have them', async () => {
    const { world, disk, node, other } = twoNodes();
    addClaim(world, 'second');
    addPod(world, 'one', node);
    addPod(world, 'two', other, 'second');
    settle(world);
    edit(world, 'persistentvolumes', ['pvc-default-second'], ({ spec }) => {
      spec.csi = { driver: EBS, volumeHandle: disk };
    });
    await expect(machineOf(world, disk)).rejects.toThrow(/leads to 2 machines: i-\w+ .*, i-\w+/s);
    const { findings } = await diagnoseSandbox(world, disk);
    expect(new Set(findings.map(({ pod }) => pod))).toEqual(new Set(['default/one', 'default/two']));
  });

  it('a pod is on no Node, and nothing has its volume', async () => {
    const { world } = twoNodes();
    addUnplaced(world, '0/2 nodes are available');
    await expect(machineOf(world, 'pod/default/app')).rejects.toThrow(/pod default\/app leads to no machine/);
  });

  it('a pod has ended', async () => {
    const { world } = stage(1);
    edit(world, 'pods', ['db-0', 'default'], ({ status }) => void (status.phase = 'Succeeded'));
    await expect(machineOf(world, 'pod/default/db-0')).rejects.toThrow(/has ended, so it is on no machine/);
  });

  it.each([
    ['pod/default/none', /there is no pod default\/none in sandbox/],
    ['pvc/none', /there is no claim default\/none in sandbox/],
    ['pv/none', /there is no volume none in sandbox/],
    ['node/none', /there is no node none in sandbox/],
    ['vol-0123', /neither an instance id nor a Node nor a volume in sandbox: name a machine by its id, or pod\//],
    ['pod/a/b/c', /is not pod\/<namespace>\/<name>/],
    ['pod/default/..', /is not pod\/<namespace>\/<name>/],
  ])('%s is not there', async (target, words) => {
    await expect(machineOf(stage(1).world, target)).rejects.toThrow(words);
  });

  it.each(['pods', 'persistentvolumes', 'volumeattachments'])('a read of %s is denied', async (resource) => {
    await expect(machineOf(stopped().world, 'pvc/default/data-db-0', denying(resource))).rejects.toThrow(
      new RegExp(`without these reads: .*${resource} is forbidden`),
    );
  });
});

describe('a cluster that never answers', () => {
  const withSilent = async (world: AwsWorld) => withSilentCluster(await toolsOver(world), 'dr');

  it('does not hold a search: the error names it, and says what to do', async () => {
    const search = searchPorts(await withSilent(stopped().world));
    const words = /cluster dr did not answer.*time limit ended.*Name the machine by its id/s;
    for (const target of [
      'node/ip-10-0-0-11.eu-west-1.compute.internal',
      'pod/default/db-0',
      'vol-00000000000000005',
    ]) {
      await expect(machineNamed(target, search)).rejects.toThrow(words);
    }
    await expect(findFence('pod/default/db-0', search)).rejects.toThrow(words);
    await expect(listFences(search)).rejects.toThrow(words);
  });

  it('does not hold a diagnosis, which names it and answers for the other clusters', async () => {
    const { findings, unread } = await diagnoseWith(await withSilent(stopped().world), 'pod/default/db-0');
    expect(findings.map(({ cause }) => cause.kind)).toEqual(['machine-off']);
    expect(unread).toEqual(['cluster dr did not answer: the time limit ended before an answer arrived']);
  });

  it('does not hold a diagnosis of it alone', async () => {
    const tools = await withSilent(stopped().world);
    await expect(diagnoseWith({ ...tools, openClusters: tools.openClusters.slice(1) })).rejects.toThrow(
      'cluster dr did not answer: the time limit ended before an answer arrived',
    );
  });
});

describe('a fence is found by', () => {
  const fenced = async () => {
    const { world, scene } = stopped();
    const ports = portsOver(world);
    expect((await run(freshRun(world, ports, { machine: scene.holder }), ports)).outcome).toBe('fenced');
    world.advance(60_000);
    return { world, scene };
  };

  it.each([
    'i-00000000000000001',
    'node/ip-10-0-0-11.eu-west-1.compute.internal',
    'pod/default/db-0',
    'pvc/default/data-db-0',
    'pv/pvc-default-data-db-0',
    'vol-00000000000000005',
  ])('%s, which its record names, although the volume is elsewhere by now', async (target) => {
    const { world, scene } = await fenced();
    expect(await fenceOf(world, target)).toMatchObject({ node: scene.nodeOf(scene.holder), machine: scene.holder });
  });

  it.each(['pod/default/other', 'pvc/default/other', 'i-0123456789abcdef0', 'pv/other'])(
    'no other name: %s',
    async (target) => {
      const { world } = await fenced();
      await expect(fenceOf(world, target)).rejects.toThrow(/no fence in sandbox is about/);
    },
  );
});
