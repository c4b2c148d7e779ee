import { setTimeout as delay } from 'node:timers/promises';
import { readAudit } from '../../testbed/audit.ts';
import type { Testbed } from '../../testbed/testbed.ts';
import { cloudfence } from '../entry-points/programs.ts';
import type { Participants } from './participants.ts';
import { POD } from './participants.ts';
import { WATCHED } from './facets.ts';
import { standingIn } from './lines.ts';
import type { Phase, DifferentialCluster } from './stage.ts';
import { watchAll, withAuthors } from './watch.ts';
import { turn } from '../../testbed/knobs.ts';
import type { TestbedNode } from '../../testbed/machines.ts';
import { openScene } from '../scenes/scene.ts';
import { until } from '../../testbed/until.ts';
import { volumeName } from '../scenes/volume.ts';
import { statefulSet } from '../scenes/workload.ts';

const CLAIM = 'data-db-0';
const WITHIN_MS = 90_000;
const READY_WITHIN_MS = 30_000;

/** The attacher publishes a second time after it has published. That has ended before the incident begins. */
const SECOND_PUBLISH_MS = 2_000;

/** The home node has lost its initial taints before anything is scheduled, as in the sandbox. */
const clean = (testbed: Testbed, { name }: TestbedNode) =>
  until(
    `${name} has no taints`,
    async () => testbed.kubelets.nodes.get(name)?.spec.taints.length === 0,
    READY_WITHIN_MS,
  );

const setUp = async (
  testbed: Testbed,
): Promise<{ readonly participants: Participants; readonly home: TestbedNode }> => {
  const { namespace, addNode, addClaim, create, runs } = await openScene(testbed, 'diff');
  const home = await addNode();
  const disk = await addClaim(CLAIM);
  await clean(testbed, home);
  await create(statefulSet('db'));
  await runs(POD, home);
  const refuge = await addNode();
  await clean(testbed, refuge);
  await delay(SECOND_PUBLISH_MS);
  const instances = { home: home.instance, refuge: refuge.instance };
  return {
    home,
    participants: {
      home: home.name,
      refuge: refuge.name,
      instances,
      namespace,
      volume: volumeName(namespace, CLAIM),
      disk,
    },
  };
};

const manualActionsAt = (
  { access, admin }: Testbed,
  participants: Participants,
  home: TestbedNode,
): Pick<
  DifferentialCluster,
  'participants' | 'stop' | 'terminate' | 'start' | 'failDetach' | 'ask' | 'fence' | 'release'
> => ({
  participants,
  stop: home.stop,
  terminate: home.terminate,
  start: () => home.start(),
  failDetach: (fails) => turn(access, participants.disk, fails ? { failDetach: 'the driver is out of order' } : {}),
  ask: (method, path, body) => admin.write(method, path, body),
  fence: async () => (await cloudfence(access, 'fence', home.instance)).says.outcome,
  release: async () => (await cloudfence(access, 'release', home.name, '--timeout', '90s')).says.outcome,
});

/** The testbed as one of the two clusters: in real time, reported by watches and by the audit log. */
export const openRealStage = async (testbed: Testbed): Promise<DifferentialCluster> => {
  const watching = await watchAll(testbed.admin, WATCHED);
  const { participants, home } = await setUp(testbed);
  const phases: Phase[] = [];
  const standing = standingIn(() => watching.seen().map((seen) => ({ ...seen, by: '' })), participants);
  return {
    ...manualActionsAt(testbed, participants, home),
    phase: (title, from) => void phases.push({ title, at: Date.now(), from }),
    until: async (what, holds, withinMs = WITHIN_MS) =>
      void (await until(what, async () => holds(standing()), withinMs)),
    pass: (ms) => delay(ms),
    story: async () => ({
      participants,
      phases,
      writings: withAuthors(
        watching.seen(),
        await readAudit(testbed.access.folder, [participants.home, participants.refuge, participants.namespace]),
      ),
    }),
    close: async () => {
      watching.close();
      await turn(testbed.access, participants.disk, {});
    },
  };
};
