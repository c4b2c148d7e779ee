import { describe, expect, it } from 'vitest';
import { defaultPolicy, type Policy } from '../../fencing/model/policy.ts';
import { PermissionDenied } from '../../fencing/model/errors.ts';
import type { Ports } from '../../fencing/loop/ports.ts';
import { sweep } from '../../fencing/sweep/sweep.ts';
import { CSI_NODE_IDS, RECORD_ANNOTATION } from '../../kubernetes/names.ts';
import { EBS } from '../../sandbox/aws-sandbox.ts';
import { json, type ApiRequest } from '../../sandbox/cluster/api/wire.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { startMachine, type Incident } from './incidents.ts';
import { portsOver, type Troubles } from './ports.ts';
import { stateOf } from './state.ts';
import { diedAfterMark } from './walk.ts';

/**
 * A Node without a providerID was known only by its CSI driver, and the driver is gone. So nothing on the Node names
 * its machine, and no run starts for it. Our earlier taint is still there.
 */

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
const QUARANTINE = 'cloudfence.dev/quarantine';

const nameOf = ({ scene }: Incident): string => scene.nodeOf(scene.holder);
const nodeOf = (incident: Incident) => getObject(incident.world, 'nodes', nameOf(incident));
const taintsOf = (incident: Incident): readonly string[] => (nodeOf(incident)?.spec.taints ?? []).map(({ key }) => key);

/** Makes the driver on the Node name these machines. Without any, nothing names the machine of the Node. */
const names = (incident: Incident, ids: readonly string[]): void => {
  const { world } = incident;
  const [node, csiNode] = [nodeOf(incident), getObject(world, 'csinodes', nameOf(incident))];
  const by = writerAs(world, 'kubelet');
  const drivers = ids.map((nodeID, at) => ({ name: at === 0 ? EBS : `${at}.${EBS}`, nodeID, topologyKeys: [] }));
  if (node)
    by.change('nodes', node, (draft) => {
      delete draft.spec.providerID;
      draft.metadata.annotations = {
        ...draft.metadata.annotations,
        [CSI_NODE_IDS]: JSON.stringify(Object.fromEntries(drivers.map(({ name, nodeID }) => [name, nodeID]))),
      };
    });
  if (csiNode) by.change('csinodes', csiNode, (draft) => void (draft.spec.drivers = drivers));
};

/** The run that was fencing the machine has died right after its mark, and then nothing names the machine any more. */
const marked = async (): Promise<Incident> => {
  const incident = await diedAfterMark();
  names(incident, []);
  expect(taintsOf(incident)).toContain(OUT_OF_SERVICE);
  return incident;
};

const booted = async (): Promise<Incident> => {
  const incident = await marked();
  startMachine(incident.world, incident.scene.holder);
  incident.world.advance(30_000);
  names(incident, []);
  return incident;
};

const sweepOnce = async (
  { world }: Incident,
  policy: Partial<Policy> = {},
  { troubles = {}, ports = portsOver(world, troubles) }: { troubles?: Troubles; ports?: Ports } = {},
) => {
  let runs = 0;
  const runOptions = {
    policy: { ...defaultPolicy, ...policy },
    deadline: world.now() + 60_000,
    newRunId: () => `sweep-${world.now()}-${(runs += 1)}`,
  };
  return sweep(runOptions, ports);
};

const lifted = { step: 'lift-out-of-service', result: 'done', because: { code: 'taint-of-another-boot' } };

describe('a Node on which nothing names its machine any more', () => {
  it.each([{}, { paused: 'maintenance' }, { shadow: true }])(
    'loses our taint once it has booted since (%j)',
    async (policy) => {
      const incident = await booted();
      const { outcomes } = await sweepOnce(incident, policy);
      expect(outcomes).toMatchObject([
        { outcome: 'refused', reason: { code: 'identity-unproven' }, node: nameOf(incident), steps: [lifted] },
      ]);
      expect(taintsOf(incident)).toEqual([QUARANTINE]);
      expect(stateOf(incident.world).violations).toEqual([]);
    },
  );

  it('loses our taint although its cluster does not say what else may name the machine', async () => {
    const incident = await booted();
    const { world } = incident;
    const inner = portsOver(world);
    const identify = () => Promise.reject(new PermissionDenied('the account may not read CSINodes'));
    const ports = { ...inner, clusters: inner.clusters.map((cluster) => ({ ...cluster, identify })) };
    const { unreachable } = await sweepOnce(incident, {}, { ports });
    expect([unreachable.length, taintsOf(incident)]).toEqual([1, [QUARANTINE]]);
  });

  it('keeps our taint in the boot that was fenced, and each sweep names the command that removes it', async () => {
    const incident = await marked();
    for (const _ of [1, 2]) {
      const { outcomes } = await sweepOnce(incident);
      expect(outcomes).toMatchObject([{ outcome: 'refused', reason: { code: 'identity-unproven' }, steps: [] }]);
      expect(outcomes[0]?.reason.says).toContain(`kubectl taint node ${nameOf(incident)} ${OUT_OF_SERVICE}-`);
      expect(taintsOf(incident)).toContain(OUT_OF_SERVICE);
    }
  });

  it('keeps our taint in a dry run, which says what it would do', async () => {
    const incident = await booted();
    const before = JSON.stringify(nodeOf(incident));
    const { outcomes } = await sweepOnce(incident, { dryRun: true });
    expect(outcomes).toMatchObject([
      { outcome: 'would-release', dryRun: true, steps: [{ step: 'lift-out-of-service', result: 'dry-run' }] },
    ]);
    expect(JSON.stringify(nodeOf(incident))).toBe(before);
  });

  it('is reported as failed if Cloudfence may not remove our taint', async () => {
    const incident = await booted();
    const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Forbidden', code: 403 };
    const before = ({ method }: ApiRequest) => (method === 'PATCH' ? json(403, status) : undefined);
    const { outcomes } = await sweepOnce(incident, {}, { troubles: { api: { before } } });
    expect(outcomes).toMatchObject([
      { outcome: 'failed', reason: { code: 'denied' }, steps: [{ step: 'lift-out-of-service', result: 'refused' }] },
    ]);
  });

  it('keeps a taint with which someone replaced ours', async () => {
    const incident = await booted();
    const node = nodeOf(incident);
    if (node)
      writerAs(incident.world, 'person').change('nodes', node, ({ spec }) => {
        spec.taints = [{ key: OUT_OF_SERVICE, value: 'nodeshutdown', effect: 'NoSchedule' }];
      });
    await sweepOnce(incident);
    expect(taintsOf(incident)).toEqual([OUT_OF_SERVICE]);
  });

  it('is released half a minute after the taint was lifted, once its driver names the machine again', async () => {
    const incident = await booted();
    const { world, scene } = incident;
    await sweepOnce(incident);
    expect(JSON.parse(nodeOf(incident)?.metadata.annotations?.[RECORD_ANNOTATION] ?? '{}')).toMatchObject({
      phase: 'lifted',
      released: expect.any(String),
    });
    names(incident, [scene.holder]);
    for (const until = world.now() + 200_000; world.now() < until; world.advance(20_000)) await sweepOnce(incident);
    expect([taintsOf(incident), stateOf(world).violations]).toEqual([[], []]);
  });
});

it('a Node that names two machines, and a third in its record, loses our taint once it has booted since', async () => {
  const incident = await booted();
  const { holder } = incident.scene;
  names(incident, [holder]);
  const [node, by] = [nodeOf(incident), writerAs(incident.world, 'kubelet')];
  if (node)
    by.change('nodes', node, ({ metadata }) => {
      const record = metadata.annotations?.[RECORD_ANNOTATION] ?? '';
      metadata.annotations = {
        [CSI_NODE_IDS]: JSON.stringify({ [EBS]: 'i-0aaaaaaaaaaaaaaaa' }),
        [RECORD_ANNOTATION]: record.replaceAll(holder, 'i-0bbbbbbbbbbbbbbbb'),
      };
    });
  await sweepOnce(incident);
  expect(taintsOf(incident)).toEqual([QUARANTINE]);
});
