import type { CurrentObjects } from './lines.ts';
import type { Incident, DifferentialCluster } from './stage.ts';
import { cordonRefuge, deleteAttachment, deleteNode, forceDelete, nudge, taint } from './stage.ts';

/** What happens to a machine, described once for both clusters. */

const attachedAt =
  (place: string) =>
  ({ value }: CurrentObjects): boolean =>
    value(`attachment to ${place}`, 'attached') === 'true' && value(`attachment to ${place}`, 'exists') === 'yes';

const movedAway = (standing: CurrentObjects): boolean =>
  attachedAt('refuge')(standing) &&
  standing.value('pod', 'on') === 'REFUGE' &&
  standing.value('pod', 'ready') === 'True' &&
  standing.value('attachment to home', 'exists') === 'gone';

const isGone =
  (object: string) =>
  ({ value }: CurrentObjects): boolean =>
    value(object, 'exists') === 'gone';

/** The time after the end in which nothing more should happen. */
const AFTERMATH_MS = 1_500;

const moved = async ({ until, pass }: DifferentialCluster, withinMs?: number): Promise<void> => {
  await until('the database runs at the refuge', movedAway, withinMs);
  await pass(AFTERMATH_MS);
};

const expectOutcome = async (says: Promise<string>, wanted: string): Promise<void> => {
  const outcome = await says;
  if (outcome !== wanted) throw new Error(`the outcome is ${outcome}, not ${wanted}`);
};

const taintAndForceDelete: Incident = async (stage) => {
  await stage.stop();
  stage.phase('by hand', 'first change');
  await taint(stage, 'NoSchedule');
  await forceDelete(stage);
  await moved(stage);
};

/** The scheduler selects one of two equal nodes by chance. */
const forceDeleteAlone: Incident = async (stage) => {
  await cordonRefuge(stage);
  await stage.stop();
  stage.phase('by hand', 'first change');
  await forceDelete(stage);
  await stage.until(
    'the next pod is on the dead node',
    ({ births, value }) => births('pod') === 2 && value('pod', 'on') === 'HOME',
  );
  await stage.pass(5_000);
};

const fenceStopped: Incident = async (stage) => {
  await stage.stop();
  stage.phase('fenced', 'first change');
  await expectOutcome(stage.fence(), 'fenced');
  await moved(stage);
};

const fenceTerminated: Incident = async (stage) => {
  await stage.terminate();
  stage.phase('fenced', 'first change');
  await expectOutcome(stage.fence(), 'fenced');
  await stage.until('the CSINode is gone with its Node', isGone('csinode home'));
  await moved(stage);
};

const everythingDeleted: Incident = async (stage) => {
  await stage.stop();
  stage.phase('by hand', 'first change');
  await deleteNode(stage);
  await forceDelete(stage);
  await deleteAttachment(stage);
  await moved(stage);
};

const returned = ({ value }: CurrentObjects): boolean =>
  value('node home', 'ready').startsWith('True') && !value('node home', 'taints').includes('unreachable');

const release: Incident = async (stage) => {
  await fenceStopped(stage);
  await stage.until('the machine is known to be away', ({ value }) =>
    value('node home', 'taints').includes('unreachable=:NoExecute'),
  );
  stage.phase('back', 'first change');
  await stage.start();
  await stage.until('the machine is back', returned);
  await stage.pass(AFTERMATH_MS);
  stage.phase('released', 'first change');
  await expectOutcome(stage.release(), 'released');
  await stage.pass(AFTERMATH_MS);
};

const FAILS_FOR_MS = 5_000;

const failingDetach: Incident = async (stage) => {
  await stage.failDetach(true);
  await stage.stop();
  stage.phase('by hand', 'first change');
  await taint(stage, 'NoSchedule');
  await forceDelete(stage);
  await stage.pass(FAILS_FOR_MS);
  await stage.failDetach(false);
  stage.phase('nudged', 'first change');
  await nudge(stage, 'home');
  await stage.until('the old attachment is gone', isGone('attachment to home'));
  await nudge(stage, 'refuge');
  await moved(stage);
};

export const incidents: Readonly<Record<string, Incident>> = {
  'taint and force delete': taintAndForceDelete,
  'force delete alone': forceDeleteAlone,
  'fence of a stopped machine': fenceStopped,
  'fence of a terminated machine': fenceTerminated,
  'a detach that fails for a while, and nudges': failingDetach,
};

/** Incidents in which hardly anything happens for a minute. */
export const waitingIncidents: Readonly<Record<string, Incident>> = {
  'Node, pod and attachment deleted': everythingDeleted,
  'release after a fresh boot': release,
};

const LEFT_ALONE_MS = 380_000;
const LONG_MS = 600_000;

const leftAlone: Incident = async (stage) => {
  stage.phase('left alone', 'announcement');
  await stage.stop();
  await stage.pass(LEFT_ALONE_MS);
};

const taintAlone =
  (effect: 'NoSchedule' | 'NoExecute'): Incident =>
  async (stage) => {
    await stage.stop();
    stage.phase('by hand', 'first change');
    await taint(stage, effect);
    await moved(stage, LONG_MS);
  };

const nodeDeleted: Incident = async (stage) => {
  await stage.stop();
  stage.phase('by hand', 'first change');
  await deleteNode(stage);
  await moved(stage, LONG_MS);
};

/** Incidents that wait for the timers of Kubernetes itself. */
export const slowIncidents: Readonly<Record<string, Incident>> = {
  'a stopped machine that nobody does anything about': leftAlone,
  'the taint alone, NoSchedule': taintAlone('NoSchedule'),
  'the taint alone, NoExecute': taintAlone('NoExecute'),
  'the Node deleted, and nothing else': nodeDeleted,
};
