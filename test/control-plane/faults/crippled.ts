import { expect } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import type { Change } from './changes.ts';
import type { Gates } from './gates.ts';
import { openGates } from './gates.ts';
import { node } from '../../testbed/objects.ts';
import type { PodLives } from '../scenes/pod-lives.ts';
import { watchLives } from '../scenes/pod-lives.ts';
import type { Stage } from '../scenes/stage.ts';
import { expectMoved, openStage } from '../scenes/stage.ts';
import { keyOf } from './strike.ts';
import type { StubbornDriver } from './stubborn-driver.ts';
import { makeStubborn } from './stubborn-driver.ts';
import type { Workload } from '../scenes/workload.ts';

/** A database and a Job on a machine that is off, with a CSI driver that does not work: the fence needs every step. */
export interface Crippled extends Stage {
  /** The access of the process that fences here. */
  readonly gates: Gates;
  /** Opens the same kind of access for another process. */
  readonly openWay: () => Promise<Gates>;
  readonly driver: StubbornDriver;
  readonly lives: PodLives;
  readonly close: () => Promise<void>;
}

export const JOB = 'import';

const job: Workload = {
  group: '/apis/batch/v1',
  plural: 'jobs',
  manifest: (zone) => ({
    metadata: { name: JOB },
    spec: {
      template: {
        spec: {
          nodeSelector: { 'topology.kubernetes.io/zone': zone },
          containers: [{ name: 'work', image: 'example.org/work:1' }],
          restartPolicy: 'Never',
        },
      },
    },
  }),
};

/** Runs the Job at home: the other node is cordoned. */
const runJobAtHome = async (testbed: Testbed, { scene, home, refuge }: Stage): Promise<void> => {
  const cordon = (unschedulable: boolean | null) =>
    testbed.admin.write('PATCH', `/api/v1/nodes/${refuge.name}`, { spec: { unschedulable } });
  await cordon(true);
  await scene.create(job);
  await scene.runs(JOB, home);
  await cordon(null);
};

export const openCrippled = async (testbed: Testbed, title: string): Promise<Crippled> => {
  const stage = await openStage(testbed, title);
  await runJobAtHome(testbed, stage);
  const [driver, lives] = await Promise.all([
    makeStubborn(testbed.access, stage.disk, stage.home.name),
    watchLives(stage.scene),
  ]);
  const opened: Gates[] = [];
  const openWay = async (): Promise<Gates> => {
    const gates = await openGates(testbed.access, driver.heed);
    opened.push(gates);
    return gates;
  };
  const close = async (): Promise<void> => {
    lives.close();
    driver.close();
    await Promise.all(opened.map((gates) => gates.close()));
  };
  const gates = await openWay();
  await stage.home.stop();
  return { ...stage, gates, openWay, driver, lives, close };
};

const recordOf = async ({ scene, home }: Stage): Promise<unknown> => {
  const { metadata } = node.parse(await scene.testbed.admin.get(`/api/v1/nodes/${home.name}`));
  return JSON.parse(metadata.annotations['cloudfence.dev/fence'] ?? 'null');
};

const movedOnce = [
  { uid: expect.any(String), deleted: true },
  { uid: expect.any(String), deleted: false },
];

/**
 * Expects the same end as after a fence without faults: both pods moved once, the disk moved with them, and nothing
 * newer was touched.
 */
export const expectRecovered = async (crippled: Crippled): Promise<void> => {
  const { scene, home, refuge, lives, former } = crippled;
  await Promise.all([expectMoved(crippled, { fenced: [home] }), scene.runs(JOB, refuge)]);
  expect(await recordOf(crippled)).toMatchObject({ phase: 'fenced', machine: home.instance });
  expect({ db: lives.of('db-0'), job: lives.of(JOB) }).toEqual({ db: movedOnce, job: movedOnce });
  expect(lives.of('db-0')[0]?.uid).toBe(former);
};

/** Changes that their servers accepted, in order, each once. */
export const changesMade = ({ seen }: Gates): readonly Change[] => {
  const made = seen.filter(({ status, change }) => change !== null && status !== null && status < 300);
  return [...new Map(made.map(({ passing, change }) => [keyOf(passing), change])).values()].filter(
    (change) => change !== null,
  );
};
