import { expect } from 'vitest';
import { volumeIn } from '../../sandbox/ec2/state.ts';
import type { Installed } from './installed.ts';
import { silence, stateChange, type Holder } from './stopping-machines.ts';

/** Short stories. Each of them needs certain actions of a role to succeed. */

export interface Scenario {
  /** Plays the story again from its last state, with the present role, and returns the end. */
  readonly play: (deployed: Installed, name: string, at: RoleFixtures) => Promise<unknown>;
  readonly goodEnd: unknown;
}

/** The machines in the stories of one function. */
export interface RoleFixtures {
  /** Stopped, with a disk that only Cloudfence detaches. */
  readonly dead: Holder;
  /** Running, while its Node has been out of reach for a long time. */
  readonly silent: Holder;
  /** A machine that is stopping for longer than any test lasts. */
  readonly stopping: Holder;
  /** In no cluster. */
  readonly stray: string;
}

const delivered = (body: unknown) => ({ Records: [{ messageId: 'one', body: JSON.stringify(body) }] });

/** What makes a function look at a machine. */
const errandFor = (name: string, instanceId: string): unknown => {
  if (name === 'on-event') return delivered(stateChange(instanceId, 'stopped'));
  return name === 'sweep' ? {} : { instanceId };
};

const isHeldBy = ({ world }: Installed, { machine, volume }: Holder): boolean =>
  volumeIn(world, volume)?.attachments.some(({ instance, state }) => instance === machine && state === 'attached') ??
  false;

export const freesTheDisk: Scenario = {
  play: async (deployed, name, { dead }) => {
    await deployed.call(name, errandFor(name, dead.machine));
    await deployed.forgetWaiting();
    return { diskIsOff: !isHeldBy(deployed, dead), violations: deployed.violations() };
  },
  goodEnd: { diskIsOff: true, violations: [] },
};

export const powersOff: Scenario = {
  play: async (deployed, name, { silent }) => {
    silence(deployed.world, silent);
    await deployed.call(name, errandFor(name, silent.machine));
    await deployed.forgetWaiting();
    return { runs: deployed.stateOf(silent) === 'running' };
  },
  goodEnd: { runs: false },
};

/** Only a machine that is in no cluster is ignored. While one cluster cannot be asked, on-event returns its message. */
export const asksEveryCluster: Scenario = {
  play: async (deployed, name, { stray }) => {
    const answer = await deployed.call(name, errandFor(name, stray));
    const waiting = await deployed.waitingMessages();
    await deployed.forgetWaiting();
    return { answer, waiting };
  },
  goodEnd: {
    answer: expect.toSatisfy((answer: object) =>
      'unreachable' in answer
        ? JSON.stringify(answer.unreachable) === '[]'
        : 'batchItemFailures' in answer
          ? JSON.stringify(answer.batchItemFailures) === '[]'
          : 'outcome' in answer && answer.outcome === 'ignored',
    ),
    waiting: 0,
  },
};

export const looksAgainLater: Scenario = {
  play: async (deployed, name, { stopping }) => {
    const answer = await deployed.call(name, delivered(stateChange(stopping.machine, 'stopping')));
    const waiting = await deployed.waitingMessages();
    await deployed.forgetWaiting();
    return { answer, waiting };
  },
  goodEnd: { answer: { batchItemFailures: [] }, waiting: 1 },
};

export const givesUpWithAReason: Scenario = {
  play: async (deployed, name) => {
    const answer = await deployed.call(
      name,
      delivered({
        source: 'aws.ec2',
        'detail-type': 'EC2 Instance State-change Notification',
        detail: { 'instance-id': 7 },
      }),
    );
    return { answer, letter: await deployed.deadLetter() };
  },
  goodEnd: {
    answer: { batchItemFailures: [] },
    letter: expect.objectContaining({ reason: expect.stringMatching(/instance-id/) }),
  },
};

/** The same range again would be the same replay. */
let ranges = 0;

export const replaysTheArchive: Scenario = {
  play: (deployed, name) => {
    const from = Date.UTC(2026, 0, 1) + (ranges += 1) * 1_000;
    return deployed.call(name, {
      replay: { from: new Date(from).toISOString(), to: new Date(from + 60_000).toISOString() },
    });
  },
  goodEnd: { replay: expect.stringMatching(/^cloudfence-/), state: 'STARTING' },
};

export const findsAllWell: Scenario = {
  play: (deployed, name) => deployed.call(name, {}),
  goodEnd: expect.objectContaining({
    verdict: 'ok',
    checks: expect.toSatisfy(
      (checks: readonly { readonly what: string }[]) =>
        checks.length > 5 &&
        ['-sweep', '-diagnose'].every((end) =>
          checks.some(({ what }) => what.endsWith(`${end}: access with its own role`)),
        ),
    ),
  }),
};

/** The diagnosis reads the cluster, the machine, and the disk. It names what it could not read. */
export const readsEverything: Scenario = {
  play: (deployed, name, { silent }) => deployed.call(name, { target: silent.volume }),
  goodEnd: { unread: [], findings: expect.toSatisfy((findings: readonly unknown[]) => findings.length > 0) },
};
