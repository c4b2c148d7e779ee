import { pluralize } from '../fencing/model/reason.ts';
import type { ClusterParts } from '../sandbox/cluster/cluster-world.ts';
import { getObject } from '../sandbox/cluster/get-objects.ts';
import type { World } from '../sandbox/world.ts';
import { type Milestone, fenceTracesOn } from './milestones.ts';
import { type DemoRun, type DemoNews, type PlayedDemo, DEMO_LASTS_MS } from './play.ts';
import { databasePod, type Story } from './story.ts';

/** Prints both timelines next to each other, and the state of both worlds at the end. */

const COLUMNS = [36, 32, 32] as const;

const row = (...cells: readonly [string, string, string]): string =>
  cells
    .map((cell, at) => cell.padEnd(COLUMNS[at] ?? 0))
    .join('')
    .trimEnd();

const never = `never (watched ${Math.floor(DEMO_LASTS_MS / 60_000)} min)`;

const cellOf = ({ name, ours }: Milestone, lane: Pick<DemoRun, 'name' | 'reached'>): string => {
  const at = lane.reached.get(name);
  if (at !== undefined) return clockTime(at);
  return ours && lane.name === 'kubernetes alone' ? '–' : never;
};

const diskCell = ({ disk }: AtTheEnd, shortened: (instance: string) => string): string =>
  disk.map(({ instance, state }) => `${shortened(instance)}, ${state}`).join(' and ') || 'nobody';

const podCell = ({ pod }: AtTheEnd, shortened: (node: string) => string): string => {
  if (!pod) return 'nowhere: the pod does not exist';
  if (pod.node === null) return 'nowhere: the pod waits for a node';
  if (!pod.machineRuns) return `nowhere: stuck on ${shortened(pod.node)}`;
  return `${shortened(pod.node)}, ${pod.deleting ? 'unreachable' : pod.phase}`;
};

const violationsCell = ({ violations }: AtTheEnd): string =>
  violations.length === 0 ? 'none' : `${pluralize(violations.length, 'time')}: data may be lost`;

const TAINTS: ReadonlySet<string> = new Set(['out-of-service', 'quarantine']);

const leftoverCell = ({ leftOnNode }: AtTheEnd): string => {
  if (leftOnNode === null) return 'the Node is gone';
  const others = leftOnNode.filter((what) => !TAINTS.has(what));
  const taints = leftOnNode.length - others.length;
  const counted = taints === 0 ? [] : [taints === 1 ? '1 taint' : `${taints} taints`];
  return [...counted, ...others].join(', ') || 'nothing';
};

export const tableLines = <P extends ClusterParts>({
  demo,
  story,
  lanes: { alone, fenced },
}: PlayedDemo<P>): readonly string[] => {
  const [without, with_] = [atTheEnd(alone.world, story), atTheEnd(fenced.world, story)];
  const endRow = (title: string, cell: (end: AtTheEnd) => string): string => row(title, cell(without), cell(with_));
  return [
    row(demo.scenario.since, alone.name, fenced.name),
    '-'.repeat(COLUMNS[0] + COLUMNS[1] + fenced.name.length),
    ...demo.scenario.milestones.map((milestone) =>
      row(milestone.title(story.demoCloud.title), cellOf(milestone, alone), cellOf(milestone, fenced)),
    ),
    '',
    endRow('in the end, the disk is attached to', (end) => diskCell(end, story.demoCloud.shortName)),
    endRow('the database runs on', (end) => podCell(end, story.demoCloud.shortNode)),
    endRow('harm to data', violationsCell),
    endRow('of Cloudfence, on the old Node', leftoverCell),
  ];
};

export const verdictLines = <P extends ClusterParts>({
  verdict: { right, findings },
  requests,
  story,
}: PlayedDemo<P>): readonly string[] => {
  const calls = Object.values(requests.cloud).reduce((sum, count) => sum + count, 0);
  return [
    ...findings.flatMap(({ finding, wrong }) => (wrong === null ? [] : hangingIndent(`  WRONG  ${finding}: `, wrong))),
    ...(right
      ? hangingIndent('As expected: ', findings.map(({ finding }) => finding).join(', '))
      : ['This is not the expected end.']),
    ...wrapText(
      `Cloudfence made ${requests.kubernetes} requests to the Kubernetes API and ${calls} to ` +
        `${story.demoCloud.title}, over local sockets.`,
      TERMINAL_WIDTH,
    ),
  ];
};

/** The maximum width of what people read at a terminal (columns of plain text). */
export const TERMINAL_WIDTH = 100;

/** Returns the time as `+m:ss.s`. */
const clockTime = (ms: number): string => {
  const tenths = Math.round(ms / 100);
  const seconds = ((tenths % 600) / 10).toFixed(1).padStart(4, '0');
  return `+${Math.floor(tenths / 600)}:${seconds}`;
};

/** Breaks a text between words. A word that is longer than a line is split. */
export const wrapText = (text: string, width: number): readonly string[] => {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/).flatMap((long) => long.match(new RegExp(`.{1,${width}}`, 'g')) ?? [])) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, line];
};

/** Wraps a text next to a first column that only the first line has. */
const hangingIndent = (head: string, text: string): readonly string[] =>
  wrapText(text, TERMINAL_WIDTH - head.length).map((line, at) => `${at === 0 ? head : ' '.repeat(head.length)}${line}`);

export const newsLines = ({ at, lane, says }: DemoNews): readonly string[] =>
  hangingIndent(`${clockTime(at).padEnd(9)} ${lane.padEnd(16)}  `, says);

interface PodAtTheEnd {
  readonly node: string | null;
  readonly phase: string;
  readonly deleting: boolean;
  /**
   * Whether the machine under the pod's Node runs. A pod cannot run on a machine that is off, and can still run on a
   * machine that runs, whatever state Kubernetes shows.
   */
  readonly machineRuns: boolean;
}

/** The state of a world when the watch ends. */
interface AtTheEnd {
  /** The instances that hold the disk, with their states. */
  readonly disk: readonly { readonly instance: string; readonly state: string }[];
  readonly pod: PodAtTheEnd | null;
  readonly violations: readonly string[];
  /** What Cloudfence left on the Node, or null if the Node no longer exists. */
  readonly leftOnNode: readonly string[] | null;
}

const atTheEnd = <P extends ClusterParts>(world: World<P>, story: Story<P>): AtTheEnd => {
  const { demoCloud } = story;
  const node = getObject(world, 'nodes', story.node);
  return {
    disk: demoCloud
      .holders(world, story.volume)
      .map(({ instance }) => ({ instance, state: demoCloud.machine(world, instance).state })),
    pod: podAtTheEnd(world, story),
    violations: demoCloud.violations(world).map(({ what }) => what),
    leftOnNode: node ? fenceTracesOn(node) : null,
  };
};

const podAtTheEnd = <P extends ClusterParts>(
  world: World<P>,
  { node, holder, spare, demoCloud }: Story<P>,
): PodAtTheEnd | null => {
  const pod = databasePod(world);
  if (!pod) return null;
  const machine = pod.spec.nodeName === node ? holder : spare;
  return {
    node: pod.spec.nodeName ?? null,
    phase: pod.status.phase ?? 'Unknown',
    deleting: pod.metadata.deletionTimestamp !== undefined,
    machineRuns: pod.spec.nodeName !== undefined && demoCloud.machine(world, machine).power === 'running',
  };
};

/**
 * Returns the whole demo as one JSON object. Times are in ms after the start, and null for a milestone that was never
 * reached.
 */
export const demoToJson = <P extends ClusterParts>({
  demo,
  story,
  lanes: { alone, fenced },
  deliveries,
  requests,
  verdict,
}: PlayedDemo<P>): object => {
  const timeline = ({ reached }: Pick<DemoRun, 'reached'>): object =>
    Object.fromEntries(demo.scenario.milestones.map(({ name }) => [name, reached.get(name) ?? null]));
  return {
    scenario: demo.scenario.name,
    seed: demo.seed,
    watchedMs: DEMO_LASTS_MS,
    instance: story.holder,
    node: story.node,
    timelines: { kubernetesAlone: timeline(alone), withCloudfence: timeline(fenced) },
    outcomes: { kubernetesAlone: atTheEnd(alone.world, story), withCloudfence: atTheEnd(fenced.world, story) },
    deliveries,
    requests: { kubernetes: requests.kubernetes, [story.demoCloud.api]: requests.cloud },
    verdict,
  };
};
