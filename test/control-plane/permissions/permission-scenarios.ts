import { z } from 'zod';
import type { Testbed } from '../../testbed/testbed.ts';
import { addDatabase, type Database } from '../scenes/database.ts';
import { turn } from '../../testbed/knobs.ts';
import { openScene } from '../scenes/scene.ts';
import { until } from '../../testbed/until.ts';
import { job, onlyOn } from '../scenes/workload.ts';

/** A prepared scene: what to do, and how to find out whether that succeeded. */
export interface Ready {
  /** The arguments of `cloudfence`. They are requested before each try, because a try may use up its scene. */
  readonly command: () => Promise<readonly string[]>;
  /** Judges the JSON answer. `soon`: Kubernetes gets the time that it needs. `now`: the state counts as it is. */
  readonly comesToItsEnd: (answer: unknown, when: 'now' | 'soon') => Promise<boolean>;
}

export interface Scenario {
  readonly title: string;
  /** Permissions without which it fails, in the order in which the fence uses them. */
  readonly needs: readonly string[];
  readonly open: (testbed: Testbed) => Promise<Ready>;
}

const outcome = z.looseObject({
  outcome: z.string(),
  steps: z.array(z.looseObject({ step: z.string(), result: z.string() })),
});

const isFenced = (answer: unknown): boolean => outcome.parse(answer).outcome === 'fenced';

const movedIn =
  (testbed: Testbed, { disk, refuge, runsOn }: Database): Ready['comesToItsEnd'] =>
  async (answer, when) => {
    if (when === 'soon') await runsOn(refuge);
    return isFenced(answer) && (await testbed.ec2.holderOf(disk)) === refuge.instance;
  };

const stopped = async (testbed: Testbed): Promise<Ready> => {
  const database = await addDatabase(testbed);
  await database.home.stop();
  return { command: async () => ['fence', database.home.instance], comesToItsEnd: movedIn(testbed, database) };
};

const terminated = async (testbed: Testbed): Promise<Ready> => {
  const database = await addDatabase(testbed);
  const { home } = database;
  await home.terminate();
  const gone = async () => (await testbed.admin.call('GET', `/api/v1/nodes/${home.name}`)).status === 404;
  return { command: async () => ['fence', home.instance], comesToItsEnd: async (answer) => isFenced(answer) && gone() };
};

const nodeDeleted = async (testbed: Testbed): Promise<Ready> => {
  const database = await addDatabase(testbed);
  await database.home.stop();
  await testbed.admin.write('DELETE', `/api/v1/nodes/${database.home.name}`);
  return { command: async () => ['fence', database.home.instance], comesToItsEnd: movedIn(testbed, database) };
};

/** The driver works again as soon as the disk is free, because the new attachment needs it. */
const stoppedUnderBadDriver = async (testbed: Testbed) => {
  const database = await addDatabase(testbed);
  const { home, disk } = database;
  await turn(testbed.access, disk, { failDetach: 'the driver is out of order' });
  await home.stop();
  const mended = until(
    'the disk is free',
    async () => (await testbed.ec2.holderOf(disk)) !== home.instance,
    200_000,
  ).then(() => turn(testbed.access, disk, {}));
  // A try that fails earlier does not wait for it, and an unhandled rejection would fail the whole run.
  mended.catch(() => undefined);
  return { database, mended };
};

const driverOutOfOrder = async (testbed: Testbed): Promise<Ready> => {
  let latest: Awaited<ReturnType<typeof stoppedUnderBadDriver>> | null = null;
  return {
    command: async () => {
      latest = await stoppedUnderBadDriver(testbed);
      return ['fence', latest.database.home.instance];
    },
    comesToItsEnd: async (answer, when) => {
      const nudged = outcome.parse(answer).steps.some(({ step, result }) => step === 'nudge' && result === 'done');
      if (!latest || !nudged) return false;
      await latest.mended;
      return movedIn(testbed, latest.database)(answer, when);
    },
  };
};

const jobs = z.looseObject({ status: z.looseObject({ failed: z.number().default(0) }) });

const stoppedUnderJob = async (testbed: Testbed) => {
  const scene = await openScene(testbed, 'job');
  const home = await scene.addNode();
  await scene.create(job('work', { spec: () => onlyOn(home.name) }));
  await scene.runs('work', home);
  await home.stop();
  return { home, path: `/apis/batch/v1/namespaces/${scene.namespace}/jobs/work` };
};

/** A Job's pod that cannot be failed is skipped, and the outcome says so. The pod is still deleted. */
const withJob = async (testbed: Testbed): Promise<Ready> => {
  let path = '';
  const counted = async () => jobs.parse(await testbed.admin.get(path)).status.failed === 1;
  return {
    command: async () => {
      const { home, path: latest } = await stoppedUnderJob(testbed);
      path = latest;
      return ['fence', home.instance];
    },
    comesToItsEnd: async (answer, when) =>
      isFenced(answer) && (when === 'now' || until('the Job has counted its pod', counted)),
  };
};

const events = z.object({ items: z.array(z.looseObject({ reason: z.string() })) });

/**
 * Nothing fails if people cannot be informed, but then they are not informed. A fence that already exists is not
 * reported again.
 */
const reportedEvents = async (testbed: Testbed): Promise<Ready> => {
  let about = { node: '', namespace: '' };
  const has = async (wanted: string, namespace: string, subject: string): Promise<boolean> => {
    const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events?fieldSelector=regarding.name%3D${subject}`;
    return events.parse(await testbed.admin.get(path)).items.some(({ reason }) => reason === wanted);
  };
  return {
    command: async () => {
      const { home, namespace } = await addDatabase(testbed);
      await home.stop();
      about = { node: home.name, namespace };
      return ['fence', home.instance];
    },
    comesToItsEnd: async () =>
      (await has('MachineFenced', 'default', about.node)) && has('ForceDeleted', about.namespace, 'db-0'),
  };
};

const lease = z.looseObject({ spec: z.looseObject({ renewTime: z.string() }) });
const swept = z.object({ results: z.array(z.looseObject({ instance: z.string(), outcome: z.string() })) });

/**
 * A Lease counts as stale once it is a minute old. This is a dry run, because it would also find the machines of other
 * scenarios.
 */
const eventLost = async (testbed: Testbed): Promise<Ready> => {
  const { home } = await addDatabase(testbed);
  await home.stop();
  const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${home.name}`;
  await until(
    'the Lease is stale',
    async () => Date.now() - Date.parse(lease.parse(await testbed.admin.get(path)).spec.renewTime) > 61_000,
    90_000,
  );
  return {
    command: async () => ['sweep', '--dry-run'],
    comesToItsEnd: async (answer) =>
      swept
        .parse(answer)
        .results.some(({ instance, outcome: word }) => instance === home.instance && word === 'would-fence'),
  };
};

export const scenarios: readonly Scenario[] = [
  {
    title: 'a stopped machine',
    needs: [
      'get nodes',
      'list nodes',
      'get csinodes',
      'list pods',
      'get persistentvolumeclaims',
      'get volumeattachments',
      'get leases',
      'get configmaps cloudfence',
      'get configmaps cloudfence-ledger',
      'patch configmaps cloudfence-ledger',
      'patch nodes',
      'delete pods',
      // The only one that is needed after the pods.
      'get persistentvolumes',
    ],
    open: stopped,
  },
  { title: 'a terminated machine', needs: ['delete nodes'], open: terminated },
  {
    title: 'a machine whose Node someone deleted',
    needs: ['list volumeattachments', 'delete volumeattachments'],
    open: nodeDeleted,
  },
  { title: 'a disk that its driver cannot detach', needs: ['patch volumeattachments'], open: driverOutOfOrder },
  { title: 'a Job', needs: ['get pods', 'patch pods/status'], open: withJob },
  { title: 'an event that was lost', needs: ['list leases'], open: eventLost },
  { title: 'reporting to people', needs: ['create events'], open: reportedEvents },
];
