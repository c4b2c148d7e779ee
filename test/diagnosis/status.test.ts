import { describe, expect, it } from 'vitest';
import { runStatus } from '../../app/diagnose.ts';
import { statusJson, statusLines } from '../../diagnosis/status.ts';
import type { ReadClusterStanding } from '../../diagnosis/ports.ts';
import { ClusterUnavailable } from '../../fencing/model/errors.ts';
import { defaultPolicy, type Policy } from '../../fencing/model/policy.ts';
import { run } from '../../fencing/loop/run.ts';
import { openConnection, createCluster } from '../../kubernetes/cluster.ts';
import { FENCED_LABEL, RECORD_ANNOTATION, SETTINGS, STOPPING_LABEL } from '../../kubernetes/names.ts';
import { createStatusReading } from '../../kubernetes/readings/status.ts';
import { apiOf, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { clusterIn } from '../sandbox/in-process.ts';
import { stage, startMachine, stopped } from '../simulation/incidents.ts';
import { freshRun, portsOver } from '../simulation/ports.ts';
import { stateOf } from '../simulation/state.ts';
import { silence } from './sandbox-diagnosis.ts';
import { edit } from './ec2-diagnosis.ts';

/** The status, read from a sandbox with the shipped reading, rules, and dry runs. */

const silent: ReadClusterStanding = async () => {
  throw new ClusterUnavailable('dr: the API server does not answer');
};

const statusOf = async (world: AwsWorld, policy: Partial<Policy> = {}, other?: ReadClusterStanding | 'silent') => {
  const options = clusterIn(world, apiOf(world));
  const cluster = createCluster(options);
  const ports = portsOver(world);
  const { clock, never } = silence(ports.clock);
  const dr = other === 'silent' ? never : other;
  const status = await runStatus({
    openClusters: [
      { cluster, status: async () => createStatusReading(options.name, openConnection(options)) },
      ...(dr ? [{ cluster: { ...cluster, name: 'dr' }, status: async () => dr }] : []),
    ],
    policy: { ...defaultPolicy, ...policy },
    ports: { ...ports, clock },
    deadline: world.now() + 600_000,
  });
  return { json: statusJson(status), text: `\n${statusLines(status).join('\n')}\n` };
};

const fenced = async () => {
  const { world, scene } = stopped();
  const ports = portsOver(world);
  await run(freshRun(world, ports, { machine: scene.holder }), ports);
  world.advance(60_000);
  return { world, scene, node: scene.nodeOf(scene.holder) };
};

describe('the status', () => {
  it('shows a fence: phase, age, evidence, taints, and what the release waits for', async () => {
    const { world, node, scene } = await fenced();
    const before = stateOf(world);
    const { json, text } = await statusOf(world);
    // The milliseconds, and so the age, depend on how many calls a fence makes.
    expect(text.replace(/(?<=begun +\S+)\.\d+Z, \S+ ago/, 'Z, 1m04s ago')).toMatchInlineSnapshot(`
      "
      cluster sandbox: fenced Nodes: 1
        Node ip-10-0-0-11.eu-west-1.compute.internal  NotReady (unknown), machine i-00000000000000001
          phase      fenced: everything is free, and the quarantine stays until a fresh boot is proven
          begun      2026-01-01T00:00:35Z, 1m04s ago, fence run.1
          evidence   state stopped, stateReason Client.UserInitiatedShutdown, launchTime 2026-01-01T00:00:00.000Z, transition User initiated (2026-01-01 00:00:10 GMT), requestId 00000000-0000-4000-b000-000000000008, readFrom ec2:DescribeInstances
          taints     quarantine
          release    the cloud says that i-00000000000000001 is off: start it to end the fence. To end it without a boot, look at the machine, then run \`cloudfence release ip-10-0-0-11.eu-west-1.compute.internal --accept "<what you checked>"\` (still-off)
        cap: 1 of at most 1 fenced within 15 minutes (2 Nodes), 0 of at most 1 unfinished; the next fence can begin at 2026-01-01T00:15:35Z
      "
    `);
    expect(json.clusters).toMatchObject([
      {
        cluster: 'sandbox',
        fences: [
          {
            node,
            machine: scene.holder,
            phase: 'fenced',
            taints: { outOfService: false, quarantine: true },
            evidence: { state: 'stopped' },
            release: { outcome: 'refused', reason: expect.stringMatching(/^still-off: /) },
          },
        ],
        tombstones: [],
        cap: { begun: 1, unfinished: 0 },
      },
    ]);
    expect(stateOf(world)).toEqual(before);
  });

  it('says what a machine that came back still has to show, without a wait', async () => {
    const { world, scene } = await fenced();
    startMachine(world, scene.holder);
    world.advance(10_000);
    const began = world.now();
    const { json } = await statusOf(world);
    expect(json.clusters[0]?.fences).toMatchObject([
      { release: { reason: expect.stringMatching(/^(return-unproven|still-off): /) } },
    ]);
    expect(world.now() - began).toBeLessThan(5_000);
    world.advance(120_000);
    const later = await statusOf(world);
    expect(later.text).toContain('nothing is missing: the next sweep releases the Node');
  });

  it('says since when a machine has been stopping', async () => {
    const { world, scene } = stage(1);
    const node = scene.nodeOf(scene.holder);
    edit(world, 'nodes', [node], ({ metadata }) => {
      metadata.labels = { ...metadata.labels, [STOPPING_LABEL]: '2026-01-01T00-01-02Z_in_0' };
    });
    const { json, text } = await statusOf(world);
    expect(text).toContain(`Node ${node}: its machine has been stopping since 00:01:02Z`);
    expect(json.clusters[0]?.stopping).toEqual([{ node, since: '2026-01-01T00:01:02Z' }]);
  });

  it('does not wait for a cluster that never answers', async () => {
    const { json } = await statusOf(stage(1).world, {}, 'silent');
    expect(json.clusters.map(({ cluster }) => cluster)).toEqual(['sandbox']);
    expect(json.unreachable).toEqual([{ cluster: 'dr', says: 'the time limit ended before an answer arrived' }]);
  });

  it('names pauses, shadow mode, tombstones, and a cluster that does not answer', async () => {
    const { world, node } = await fenced();
    edit(world, 'nodes', [node], ({ metadata, spec }) => {
      metadata.labels = { ...metadata.labels, [FENCED_LABEL]: 'fence-1_removed_0123456' };
      delete metadata.annotations?.[RECORD_ANNOTATION];
      spec.taints = [];
    });
    const { namespace, name } = SETTINGS;
    writerAs(world, 'person').create('configmaps', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace },
      data: { pause: 'storage is upgraded' },
    });
    const { json, text } = await statusOf(world, { paused: 'audit', shadow: true }, silent);
    expect(json).toMatchObject({
      paused: 'audit',
      shadow: true,
      clusters: [{ paused: 'storage is upgraded', fences: [], tombstones: [{ node, fence: 'fence-1' }] }],
      unreachable: [{ cluster: 'dr', says: 'dr: the API server does not answer' }],
    });
    expect(text).toMatch(/PAUSED in every cluster.*audit\nSHADOW MODE.*PAUSED: storage is upgraded.*dr: UNREACHABLE/s);
  });

  it('shows a fence whose record is lost, and says how a person ends it', async () => {
    const { world, node } = await fenced();
    edit(world, 'nodes', [node], ({ metadata }) => void delete metadata.annotations?.[RECORD_ANNOTATION]);
    const { json, text } = await statusOf(world);
    expect(json.clusters[0]?.fences).toMatchObject([
      { fence: null, phase: null, release: { reason: expect.stringMatching(/^record-lost: .*--accept/) } },
    ]);
    expect(text).toContain('it is lost or cannot be read');
  });

  it('removes what could control a terminal, because a kubelet may write the record', async () => {
    const { world, node } = await fenced();
    edit(world, 'nodes', [node], ({ metadata }) => {
      const text = metadata.annotations?.[RECORD_ANNOTATION] ?? '';
      metadata.annotations = {
        ...metadata.annotations,
        [RECORD_ANNOTATION]: text.replace('"state":"stopped"', '"state":"\\u001b[2Jstopped"'),
      };
    });
    const { text } = await statusOf(world);
    expect(text).toContain(' [2Jstopped');
    expect(text).not.toContain('\u001B');
  });

  it('of a cluster without a fence or a ledger says so', async () => {
    const { world } = stage(1);
    for (const key of Object.keys(world.parts.cluster.objects.configmaps))
      delete world.parts.cluster.objects.configmaps[key];
    const { text } = await statusOf(world);
    expect(text).toContain('cluster sandbox: no Node is fenced\n  cap: there is no ledger');
  });
});
