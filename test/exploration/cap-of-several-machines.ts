import type { LedgerEntry, LedgerState } from '../../fencing/model/cap-use.ts';
import type { CapReservation } from '../../fencing/model/ledger.ts';
import { shortBoot, shortMachine } from '../../kubernetes/ledger-text.ts';
import { unhurried } from '../contract/cluster/harness.ts';
import { type Judge, type LedgerScenario, NOW, type Script } from './ledger-orders.ts';

/** Several machines that stop at once under one cap, each with a process that fences it. */

/** Of four Nodes, three may be fenced within the window, and two at a time. */
const cap: CapReservation['cap'] = { share: 0.75, atOnce: 0.5 };
const NODES = 4;
const LIMITS = { begun: 3, unfinished: 2 };

const wanted = (machine: string): CapReservation => ({ machine, boot: 'boot-1', cap, onlyAsked: false });

/** Reserves a place, fences, and records the end. */
const fences =
  (machine: string): Script =>
  async (cluster, report) => {
    const { admitted } = await cluster.reserve(wanted(machine), unhurried());
    if (!admitted) return;
    report.admitted(machine);
    await cluster.conclude(wanted(machine), unhurried());
    report.concluded(machine);
  };

/** Reserves a place, and is still fencing when the exploration ends. */
const beginsToFence =
  (machine: string): Script =>
  async (cluster, report) => {
    const { admitted } = await cluster.reserve(wanted(machine), unhurried());
    if (admitted) report.admitted(machine);
  };

/** Believes that it has recorded the end of its fence. */
const forgetsTheEnd =
  (machine: string): Script =>
  async (cluster, report) => {
    await beginsToFence(machine)(cluster, report);
    report.concluded(machine);
  };

const fencesAnyway =
  (machine: string): Script =>
  async (cluster, report) => {
    const { admitted } = await cluster.reserve(wanted(machine), unhurried()).catch(() => ({ admitted: true }));
    if (admitted) report.admitted(machine);
  };

/** Records the end of a fence at last: its process was frozen right before that. */
const endsLate =
  (machine: string, boot: string | null): Script =>
  (cluster) =>
    cluster.conclude({ machine, boot }, unhurried());

const together =
  (...scripts: readonly Script[]): Script =>
  async (cluster, report) => {
    await Promise.all(scripts.map((script) => script(cluster, report)));
  };

/** Writes the end of every fence whose machine has left no trace in the cluster. */
const sweeps =
  (...showing: readonly string[]): Script =>
  (cluster) =>
    cluster.concludeUnless(showing, NOW, unhurried());

const MINUTE_MS = 60_000;

const entry = (machine: string, begun: number, finished: boolean, boot = 'boot-1'): LedgerEntry => ({
  machine: shortMachine(machine),
  boot: shortBoot(boot),
  begun,
  finished,
  nodes: NODES,
});

export interface CapScenario extends LedgerScenario {
  readonly says: string;
  /** The machines whose entries may be finished, although no process of the scenario fences them. */
  readonly vanished: readonly string[];
  /** The machines whose fence of this boot is still in progress when the exploration ends. */
  readonly fencing: readonly string[];
  /** How many machines of the window have been admitted at the end. */
  readonly places: number;
}

const scenario = (says: string, processes: readonly Script[], change: Partial<CapScenario> = {}): CapScenario => ({
  says,
  nodes: NODES,
  ledger: () => ({ entries: [], counted: [] }),
  processes,
  faults: 0,
  entriesKept: 64,
  vanished: [],
  fencing: [],
  places: Math.min(LIMITS.unfinished, processes.length),
  ...change,
});

const afterAnEarlierFence: Partial<CapScenario> = {
  ledger: (now) => ({ entries: [entry('i-1', now - 5 * MINUTE_MS, false, 'boot-0')], counted: [] }),
  vanished: ['i-1'],
  fencing: ['i-1', 'i-2'],
  places: 2,
};

/** Small enough to run with each `npm test`. */
export const smallScenarios: readonly CapScenario[] = [
  scenario('Two machines stop, one place is left, and one call goes wrong.', [fences('i-1'), fences('i-2')], {
    ledger: (now) => ({
      entries: [entry('i-8', now - MINUTE_MS, true), entry('i-9', now - MINUTE_MS, true)],
      counted: [],
    }),
    faults: 1,
    vanished: ['i-8', 'i-9'],
    places: 3,
  }),
  scenario('Two messages about one machine arrive, and another machine stops, too.', [
    beginsToFence('i-1'),
    beginsToFence('i-1'),
    beginsToFence('i-2'),
  ]),
  scenario('A process fences two machines at once, and another process a third one.', [
    together(beginsToFence('i-1'), beginsToFence('i-2')),
    beginsToFence('i-3'),
  ]),
  scenario(
    'A sweep ends a fence that has left no trace, while two machines stop.',
    [beginsToFence('i-1'), beginsToFence('i-2'), sweeps('i-1', 'i-2')],
    {
      ledger: (now) => ({ entries: [entry('i-9', now - 5 * MINUTE_MS, false)], counted: [] }),
      vanished: ['i-9'],
      fencing: ['i-1', 'i-2'],
      places: 3,
    },
  ),
  scenario(
    'The process of an earlier fence was frozen until its machine is fenced again, and another machine stops, too.',
    [endsLate('i-1', 'boot-0'), beginsToFence('i-1'), beginsToFence('i-2')],
    afterAnEarlierFence,
  ),
  scenario('Two machines stop, and finished fences keep no entries.', [fences('i-1'), fences('i-2')], {
    entriesKept: 0,
  }),
];

export const largeScenarios: readonly CapScenario[] = [
  scenario(
    'Two machines stop, finished fences keep no entries, and one call goes wrong.',
    [fences('i-1'), fences('i-2')],
    { entriesKept: 0, faults: 1 },
  ),
  scenario('Three machines stop.', [fences('i-1'), fences('i-2'), fences('i-3')], { places: 3 }),
  scenario(
    'Three machines stop, and one call goes wrong.',
    [beginsToFence('i-1'), beginsToFence('i-2'), beginsToFence('i-3')],
    { faults: 1 },
  ),
  scenario('Two machines stop, and two calls go wrong.', [fences('i-1'), fences('i-2')], { faults: 2 }),
];

const countOf = ({ entries, counted }: LedgerState): number =>
  entries.length + counted.reduce((sum, { count }) => sum + count, 0);

const isOfThisBoot = ({ boot }: LedgerEntry): boolean => boot === shortBoot('boot-1');

const unfinishedIn = ({ entries }: LedgerState): number => entries.filter(({ finished }) => !finished).length;

/** Says when the cap does not hold, and when a place stays empty although a machine waits for one. */
export const permissionCheckOf = ({ vanished, fencing, places }: CapScenario): Judge => ({
  always: ({ ledger, admitted, concluded }, before) => {
    const began = admitted.filter((machine) => !before?.admitted.includes(machine));
    const mayBeFinished = new Set([...admitted, ...vanished].map(shortMachine));
    const inProgress = new Set(fencing.map(shortMachine));
    if (countOf(ledger) > LIMITS.begun) return 'more fences are in the ledger than the window allows';
    if (unfinishedIn(ledger) > LIMITS.unfinished) return 'more fences are unfinished than the cap allows';
    if (before && countOf(ledger) < countOf(before.ledger)) return 'a fence is not in the ledger any more';
    if (began.some((machine) => !ledger.entries.some((one) => one.machine === shortMachine(machine))))
      return 'a fence began that is not in the ledger';
    if (ledger.entries.some(({ machine, finished }) => finished && !mayBeFinished.has(machine)))
      return 'a fence is finished that never began';
    if (ledger.entries.some((one) => one.finished && isOfThisBoot(one) && inProgress.has(one.machine)))
      return 'a fence is finished that is still in progress';
    const ended = new Set(concluded.map(shortMachine));
    if (ledger.entries.some((one) => !one.finished && isOfThisBoot(one) && ended.has(one.machine)))
      return 'a fence is unfinished whose end is in the ledger';
    return null;
  },
  atTheEnd: ({ ledger }) =>
    countOf(ledger) === places ? null : `${countOf(ledger)} machines were admitted in the end, and not ${places}`,
});

/** The same processes, made unsafe. Each has to break. */
export const unsafeScenarios: readonly CapScenario[] = [
  scenario(
    'No write names the version that was read.',
    [beginsToFence('i-1'), beginsToFence('i-2'), beginsToFence('i-3')],
    {
      edit: (request) => ({ ...request, body: request.body.replace(/"resourceVersion":"\d+",?/, '') }),
    },
  ),
  scenario(
    'The end of a fence names no boot, and comes when its machine is fenced again.',
    [endsLate('i-1', null), beginsToFence('i-1')],
    { ...afterAnEarlierFence, places: 1 },
  ),
  scenario('A process fences although its reservation got no answer.', [fencesAnyway('i-1'), beginsToFence('i-2')], {
    faults: 1,
  }),
  scenario('A process believes that the end of its fence is in the ledger.', [forgetsTheEnd('i-1')]),
  scenario('A sweep knows only one of two machines that are being fenced.', [beginsToFence('i-1'), sweeps('i-1')], {
    ledger: (now) => ({ entries: [entry('i-2', now - 5 * MINUTE_MS, false)], counted: [] }),
  }),
];
