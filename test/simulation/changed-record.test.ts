import { describe, expect, it } from 'vitest';
import { run } from '../../fencing/loop/run.ts';
import type { Cloud } from '../../fencing/model/cloud.ts';
import { OPT_OUT_LABEL, RECORD_ANNOTATION } from '../../kubernetes/names.ts';
import { ec2Clients } from '../../providers/aws/client.ts';
import { awsCloud } from '../../providers/aws/index.ts';
import { type AwsWorld, SANDBOX_REGION } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBarePod } from '../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { inProcessHandler } from '../../sandbox/ec2/in-process-handler.ts';
import { change, defaultStop, stopByUser } from '../../sandbox/ec2/instances.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import { ec2WorldOf } from '../providers/aws/another-world.ts';
import { credentials } from '../sandbox/ec2/ec2-world.ts';
import { fence } from './ends.ts';
import { type Incident, startMachine, stopMachine, stopped, UNTIL_STOPPED_MS } from './incidents.ts';
import { freshRun, portsOver } from './ports.ts';
import { diedAfterMark } from './walk.ts';

/**
 * A machine was fenced, and came back. Its kubelet changes the record of that fence, so that the record seems to be of
 * the present boot. Nothing becomes possible by that.
 */

const nodeOf = ({ world, scene }: Incident) => getObject(world, 'nodes', scene.nodeOf(scene.holder));

const parkedAndBack = async (): Promise<Incident> => {
  const incident = stopped();
  await fence(incident);
  startMachine(incident.world, incident.scene.holder);
  incident.world.advance(90_000);
  addBarePod(incident.world, { name: 'late', spec: { nodeName: incident.scene.nodeOf(incident.scene.holder) } });
  return incident;
};

/** The fields by which a record counts for the present boot on every cloud, and others. */
const changeRecord = (incident: Incident, fields: object): void => {
  const { world, scene } = incident;
  const node = nodeOf(incident);
  if (!node) throw new Error('no Node');
  const lease = getObject(world, 'leases', scene.nodeOf(scene.holder), 'kube-node-lease')?.spec.renewTime;
  writerAs(world, 'kubelet').change('nodes', node, ({ metadata, status }) => {
    const record = JSON.parse(metadata.annotations?.[RECORD_ANNOTATION] ?? '{}');
    const present = {
      phase: 'fencing',
      bootID: status.nodeInfo?.bootID,
      lease,
      generation: 'x',
      generationDrifts: true,
    };
    metadata.annotations = {
      ...metadata.annotations,
      [RECORD_ANNOTATION]: JSON.stringify({ ...record, ...present, ...fields }),
    };
  });
};

/** A cloud that knows neither the machines nor the disks of the world, and whose answers take some time. */
const anotherAccount = (world: AwsWorld): Cloud => {
  const inner = inProcessHandler(ec2WorldOf('999900001111', SANDBOX_REGION));
  const handle: typeof inner.handle = (request, options) => {
    world.advance(80);
    return inner.handle(request, options);
  };
  const requestHandler = { ...inner, handle };
  return awsCloud({
    clients: ec2Clients({ region: SANDBOX_REGION, credentials, requestHandler }),
    region: SANDBOX_REGION,
  });
};

describe('a changed record', () => {
  it('replaces no witness for a machine that the cloud does not know', async () => {
    const incident = await parkedAndBack();
    const { world, scene } = incident;
    world.parts.cluster.knobs.partitioned.push(scene.nodeOf(scene.holder));
    world.advance(90_000);
    const volume = { driver: 'x', handle: 'x', persistentVolume: null, attachment: 'csi-x', attached: true };
    changeRecord(incident, { generation: null, generationDrifts: false, volumes: [volume] });
    const before = nodeOf(incident)?.metadata.uid;
    const ports = { ...portsOver(world), cloud: anotherAccount(world) };
    const outcome = await run(freshRun(world, ports, { machine: scene.holder, runId: 'event' }), ports);
    expect(outcome).toMatchObject({ outcome: 'refused', reason: { code: 'missing-without-witness' }, steps: [] });
    expect(instanceIn(world, scene.holder)?.state).toBe('running');
    expect(nodeOf(incident)?.metadata.uid).toBe(before);
  });

  it('is no statement of a person about a suspended machine', async () => {
    const incident = await parkedAndBack();
    const { world, scene } = incident;
    const instance = instanceIn(world, scene.holder);
    if (!instance) throw new Error('no instance');
    stopByUser(world, change(world, instance, { canHibernate: true }), { ...defaultStop, hibernate: true });
    world.advance(UNTIL_STOPPED_MS);
    changeRecord(incident, { vouched: 'the kubelet', released: new Date(world.now()).toISOString() });
    const outcome = await fence(incident, { runId: 'second', policy: { vouching: 'accepted' } });
    expect(outcome).toMatchObject({ outcome: 'refused', reason: { code: 'suspended' }, steps: [] });
  });

  it('does not begin a fence of a Node that an administrator has opted out', async () => {
    const incident = await parkedAndBack();
    const { world, scene } = incident;
    const node = nodeOf(incident);
    if (!node) throw new Error('no Node');
    writerAs(world, 'person').change('nodes', node, ({ metadata }) => {
      metadata.labels = { ...metadata.labels, [OPT_OUT_LABEL]: 'mine' };
    });
    stopMachine(world, scene.holder);
    world.advance(UNTIL_STOPPED_MS);
    changeRecord(incident, { released: null, outOfService: 'foreign', pods: [], volumes: [], recurring: [] });
    const outcome = await fence(incident, { runId: 'second' });
    expect(outcome).toMatchObject({ outcome: 'refused', reason: { code: 'opted-out' }, steps: [] });
  });
});

/** A machine that was started again after a run died right after the mark. */
const markedAndBack = async (): Promise<Incident> => {
  const incident = await diedAfterMark();
  startMachine(incident.world, incident.scene.holder);
  incident.world.advance(90_000);
  return incident;
};

const annotate = (incident: Incident, annotationsAfter: (before: Readonly<Record<string, string>>) => object): void => {
  const node = nodeOf(incident);
  if (!node) throw new Error('no Node');
  writerAs(incident.world, 'kubelet').change('nodes', node, ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, ...annotationsAfter(metadata.annotations ?? {}) };
  });
};

const bytesOf = (annotations: Readonly<Record<string, string>>): number =>
  Buffer.byteLength(Object.entries(annotations).flat().join(''));

const keysOfTaints = (incident: Incident) => (nodeOf(incident)?.spec.taints ?? []).map(({ key }) => key);

describe('our taint is removed from a machine that runs', () => {
  it('if its kubelet has filled the annotations, so that no record can be written', async () => {
    const incident = await markedAndBack();
    annotate(incident, (before) => ({ full: 'x'.repeat(256 * 1024 - bytesOf(before) - 'full'.length) }));
    const outcome = await fence(incident, { runId: 'event' });
    expect(keysOfTaints(incident)).not.toContain('node.kubernetes.io/out-of-service');
    expect(outcome).toMatchObject({ outcome: 'refused', reason: { code: 'record-lost' } });
    expect(outcome.steps).toMatchObject([{ step: 'lift-out-of-service', result: 'done' }]);
  });

  it('if its kubelet writes the record before each patch', async () => {
    const incident = await markedAndBack();
    let writes = 0;
    const before = ({ method, path }: { readonly method: string; readonly path: string }) => {
      if (method === 'PATCH' && path.startsWith('/api/v1/nodes/'))
        annotate(incident, () => ({ [RECORD_ANNOTATION]: `${(writes += 1)}` }));
      return undefined;
    };
    const ports = portsOver(incident.world, { api: { before } });
    const outcome = await run(
      freshRun(incident.world, ports, { machine: incident.scene.holder, runId: 'event' }),
      ports,
    );
    expect(keysOfTaints(incident)).not.toContain('node.kubernetes.io/out-of-service');
    expect(outcome).toMatchObject({ outcome: 'refused', reason: { code: 'record-lost' } });
  });
});
