import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import { atTheEnd, type AtTheEnd } from './at-the-end.ts';
import type { Lane } from './lanes.ts';
import type { Milestone } from './milestones.ts';
import { WATCHED_MS, type Played } from './play.ts';
import { clockTime, hanging, WIDTH, wrapped } from './text.ts';

/** Both timelines side by side, and how both worlds stand in the end. */

const COLUMNS = [36, 32, 32] as const;

const row = (...cells: readonly [string, string, string]): string => cells.map((cell, at) => cell.padEnd(COLUMNS[at] ?? 0)).join('').trimEnd();

const never = `never (watched ${Math.floor(WATCHED_MS / 60_000)} min)`;

const cellOf = ({ name, ours }: Milestone, lane: Pick<Lane, 'name' | 'reached'>): string => {
  const at = lane.reached.get(name);
  if (at !== undefined) return clockTime(at);
  return ours && lane.name === 'kubernetes alone' ? '–' : never;
};

const diskCell = ({ disk }: AtTheEnd, shortened: (instance: string) => string): string => disk.map(({ instance, state }) => `${shortened(instance)}, ${state}`).join(' and ') || 'nobody';

const podCell = ({ pod }: AtTheEnd, shortened: (node: string) => string): string => {
  if (!pod) return 'nowhere: there is no pod';
  if (pod.node === null) return 'nowhere: it waits for a node';
  if (!pod.machineRuns) return `nowhere: stuck on ${shortened(pod.node)}`;
  return `${shortened(pod.node)}, ${pod.deleting ? 'out of reach' : pod.phase}`;
};

const harmCell = ({ harm }: AtTheEnd): string => (harm.length === 0 ? 'none' : `${harm.length} times: data may be lost`);

const TAINTS: ReadonlySet<string> = new Set(['out-of-service', 'quarantine']);

const leftCell = ({ leftOnNode }: AtTheEnd): string => {
  if (leftOnNode === null) return 'the Node is gone';
  const others = leftOnNode.filter((what) => !TAINTS.has(what));
  const taints = leftOnNode.length - others.length;
  const counted = taints === 0 ? [] : [taints === 1 ? '1 taint' : `${taints} taints`];
  return [...counted, ...others].join(', ') || 'nothing';
};

export const tableLines = <P extends ClusterParts>({ demo, story, lanes: { alone, fenced } }: Played<P>): readonly string[] => {
  const [without, with_] = [atTheEnd(alone.world, story), atTheEnd(fenced.world, story)];
  const endRow = (title: string, cell: (end: AtTheEnd) => string): string => row(title, cell(without), cell(with_));
  return [
    row(demo.scenario.since, alone.name, fenced.name),
    '-'.repeat(COLUMNS[0] + COLUMNS[1] + fenced.name.length),
    ...demo.scenario.milestones.map((milestone) => row(milestone.title(story.stage.title), cellOf(milestone, alone), cellOf(milestone, fenced))),
    '',
    endRow('in the end, the disk is held by', (end) => diskCell(end, story.stage.shortName)),
    endRow('the database runs on', (end) => podCell(end, story.stage.shortNode)),
    endRow('harm to data', harmCell),
    endRow('of Cloudfence, on the old Node', leftCell),
  ];
};

export const verdictLines = <P extends ClusterParts>({ verdict: { right, findings }, requests, story }: Played<P>): readonly string[] => {
  const calls = Object.values(requests.cloud).reduce((sum, count) => sum + count, 0);
  return [
    ...findings.flatMap(({ finding, wrong }) => (wrong === null ? [] : hanging(`  WRONG  ${finding}: `, wrong))),
    ...(right ? hanging('As it should be: ', findings.map(({ finding }) => finding).join(', ')) : ['This is not how it should end.']),
    ...wrapped(`Cloudfence made ${requests.kubernetes} requests to the Kubernetes API and ${calls} to ${story.stage.title}, over sockets of this computer.`, WIDTH),
  ];
};
