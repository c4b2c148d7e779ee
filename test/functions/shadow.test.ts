import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Policy } from '../../fencing/model/policy.ts';
import { fence as awsFence } from '../../functions/aws/fence.ts';
import { onEvent as onAwsEvent } from '../../functions/aws/on-event.ts';
import { replay as awsReplay } from '../../functions/aws/replay.ts';
import { onEvent as onAzureEvent } from '../../functions/azure/on-event.ts';
import { sweep as azureSweep } from '../../functions/azure/handlers.ts';
import { fence as gcpFence } from '../../functions/gcp/fence.ts';
import { onEvent as onGcpEvent } from '../../functions/gcp/on-event.ts';
import { replay as gcpReplay } from '../../functions/gcp/replay.ts';
import { sweep as gcpSweep } from '../../functions/gcp/sweep.ts';
import { sweep } from '../../functions/sweep.ts';
import { deallocate, start as startAzure } from '../../sandbox/azure/machines.ts';
import type { ClusterState } from '../../sandbox/cluster/store.ts';
import { createGceSandbox } from '../../sandbox/gce-sandbox.ts';
import { start as startGce } from '../../sandbox/gce/instances.ts';
import { stopGuest } from '../../sandbox/gce/scenario.ts';
import { instanceIn } from '../../sandbox/gce/state.ts';
import { gceDatabaseOnTwoNodes } from '../../sandbox/scenes/gce-database.ts';
import { openKeyServer, type KeyServer } from '../providers/gcp/key-server.ts';
import { change, react as reactOnAzure, scene as azureScene } from '../sandbox/azure/azure-runs.ts';
import { react as reactOnGce } from '../sandbox/gce/gce-runs.ts';
import { attacherDown, startMachine } from '../simulation/incidents.ts';
import { fence } from '../simulation/ends.ts';
import { azureInstall, cloudEvent } from './azure-install.ts';
import { bearer, installOver as gcpInstall, pushOf } from './gcp/install.ts';
import { batchOf, installOver, stateChange } from './install.ts';

/**
 * Shadow mode lifts our taint from a machine that runs, through each entry point and on each cloud. A dry run does not,
 * even in shadow mode.
 */

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
const stuck = { detach: 'never' } as const;

let keys: KeyServer;
beforeAll(async () => {
  keys = await openKeyServer();
});
afterAll(() => keys.close());

interface Stage {
  readonly cluster: () => ClusterState;
  readonly lines: readonly Record<string, unknown>[];
  /** An ordinary message, and one that requests a dry run. */
  readonly entryPoints: Readonly<Record<string, (dryRun: boolean) => Promise<unknown>>>;
}

const aws = async (policy: Partial<Policy>): Promise<Stage> => {
  const { world, scene } = attacherDown();
  await fence({ world, scene }, { policy: stuck, lasts: 20_000 });
  startMachine(world, scene.holder);
  world.advance(15_000);
  const install = installOver(world, policy);
  const wanted = { ...stateChange(scene.holder, 'running') };
  const get = async () => install.dependencies;
  return {
    cluster: () => world.parts.cluster,
    lines: install.lines,
    entryPoints: {
      event: (dryRun) => onAwsEvent(get)(batchOf(dryRun ? { ...wanted, dryRun } : wanted), install.context()),
      replay: (dryRun) => awsReplay(get)(dryRun ? { ...wanted, dryRun } : wanted, install.context()),
      fence: (dryRun) => awsFence(get)({ instanceId: scene.holder, dryRun }, install.context()),
      sweep: () => sweep(get)({}, install.context()),
    },
  };
};

const azure = async (policy: Partial<Policy>): Promise<Stage> => {
  const { world, holder } = azureScene();
  world.parts.cluster.knobs.attacherDown = true;
  change(world, holder, deallocate, 60_000);
  await reactOnAzure(world, holder, 100, stuck);
  change(world, holder, startAzure, 30_000);
  const install = azureInstall(world, policy);
  return {
    cluster: () => world.parts.cluster,
    lines: install.lines,
    entryPoints: {
      event: (dryRun) =>
        onAzureEvent(install.getDependencies)(
          [{ ...cloudEvent(holder, 'start'), ...(dryRun && { dryRun }) }],
          install.context,
        ),
      sweep: () => azureSweep(install.getDependencies)({}, install.context),
    },
  };
};

const gcp = async (policy: Partial<Policy>): Promise<Stage> => {
  const world = createGceSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
  const { holder } = gceDatabaseOnTwoNodes(world);
  world.parts.cluster.knobs.attacherDown = true;
  stopGuest(world, holder);
  world.advance(30_000);
  const entry = world.parts.gce.events.findLast(({ protoPayload }) =>
    protoPayload.methodName.endsWith('guestTerminate'),
  );
  await reactOnGce(world, holder, stuck);
  const instance = instanceIn(world, holder);
  if (instance) startGce(world, instance);
  world.advance(30_000);
  const install = gcpInstall(world, keys, policy);
  const get = async () => install.dependencies;
  const asked = (body: object) => ({ headers: { authorization: bearer(keys) }, body });
  return {
    cluster: () => world.parts.cluster,
    lines: install.lines,
    entryPoints: {
      event: (dryRun) => onGcpEvent(get)(pushOf(keys, { ...entry, ...(dryRun && { dryRun }) }), install.limit()),
      replay: (dryRun) => gcpReplay(get)(asked({ instance: holder, ...(dryRun && { dryRun }) }), install.limit()),
      fence: (dryRun) => gcpFence(get)(asked({ instance: holder, dryRun }), install.limit()),
      sweep: () => gcpSweep(get)(asked({}), install.limit()),
    },
  };
};

const entryPoints = [
  ['aws', aws, ['event', 'replay', 'fence', 'sweep']],
  ['azure', azure, ['event', 'sweep']],
  ['gcp', gcp, ['event', 'replay', 'fence', 'sweep']],
] as const;

const isTainted = ({ cluster }: Stage): boolean =>
  Object.values(cluster().objects.nodes).some(({ spec }) => spec.taints?.some(({ key }) => key === OUT_OF_SERVICE));
const ordered = ({ cluster }: Stage) => cluster().audit.filter(({ user }) => user === 'kubernetes-admin');

const dryRuns: readonly (readonly [string, Partial<Policy>, boolean])[] = [
  ['a message that requests a dry run', { shadow: true }, true],
  ['an install where everything is a dry run', { shadow: true, dryRun: true }, false],
];

describe.each(
  entryPoints.flatMap(([cloud, make, names]) => names.map((entryPoint) => [cloud, entryPoint, make] as const)),
)('on %s, by %s', (_, entryPoint, make) => {
  it('our taint is lifted from a machine that runs, in shadow mode, and the log says so', async () => {
    const stage = await make({ shadow: true });
    expect(isTainted(stage)).toBe(true);
    await stage.entryPoints[entryPoint]?.(false);
    expect(isTainted(stage)).toBe(false);
    expect(stage.lines.filter(({ step }) => step === 'lift-out-of-service')).toMatchObject([
      { result: 'done', dryRun: false },
    ]);
  });

  it.each(dryRuns.filter(([, , dryRun]) => entryPoint !== 'sweep' || !dryRun))(
    'nothing is written for %s',
    async (...dry) => {
      const [, policy, dryRun] = dry;
      const stage = await make(policy);
      const before = ordered(stage).length;
      await stage.entryPoints[entryPoint]?.(dryRun);
      expect(ordered(stage).slice(before)).toEqual([]);
      expect(isTainted(stage)).toBe(true);
      expect(stage.lines.filter(({ step }) => step !== null)).toMatchObject([{ result: 'dry-run', dryRun: true }]);
    },
  );
});

it('a machine that both messages of one batch name is looked at for each, and its taint is lifted', async () => {
  const { world, scene } = attacherDown();
  await fence({ world, scene }, { policy: stuck, lasts: 20_000 });
  startMachine(world, scene.holder);
  world.advance(15_000);
  const install = installOver(world, { shadow: true });
  const event = stateChange(scene.holder, 'running');
  await onAwsEvent(async () => install.dependencies)(batchOf({ ...event, dryRun: true }, event), install.context());
  expect(new Set(install.lines.filter(({ step }) => step !== null).map(({ result }) => result))).toEqual(
    new Set(['dry-run', 'done']),
  );
});
