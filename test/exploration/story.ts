import { readFile, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Step } from '../../fencing/model/steps.ts';
import type { PlannedStep } from '../../fencing/rules/view.ts';
import type { ExploredCloud } from './clouds.ts';
import { isQuarantined, isTaintedByUs } from './on-node.ts';
import { type Broken, meanings } from './invariants.ts';
import { TICK_MS } from './time.ts';
import { isGone, type World } from './world.ts';

/** A schedule that breaks an invariant, as sentences in a file. */

export interface Story {
  readonly breaks: Broken;
  /** What happens, one sentence after the other. */
  readonly says: readonly string[];
}

/** A story that breaks `recovery` continues after this sentence with what fresh runs do. */
export const RECOVERY_BEGINS = 'From here on, nothing fails any more.';

export const TIME_PASSES = `${TICK_MS / 1_000} s pass`;

/** The id of each run. Only a fence that has not begun yet gets its name from it. */
export const RUN_ID = 'run';

export const isToBegin = (fence: string): boolean => fence.startsWith(`${RUN_ID}.`);

/** Stands for the name of a run in a sentence. */
export const RUN = '{run}';

/** Returns the sentence with the name of the run. */
export const withName = (sentence: string, name: string): string => sentence.replaceAll(RUN, name);

const fenceInWords = (fence: string): string => (isToBegin(fence) ? 'a new fence' : fence);

/** The last part of an ID. Some clouds give IDs of 150 characters. */
const shortName = (id: string): string => id.slice(id.lastIndexOf('/') + 1);

/** A line for each ID that a story shortens. */
const legendOf = ({ machine, disk }: Pick<ExploredCloud, 'machine' | 'disk'>): readonly string[] =>
  [
    { what: 'Machine', id: machine },
    { what: 'Disk', id: disk },
  ].flatMap(({ what, id }) => (shortName(id) === id ? [] : [`${what} ${shortName(id)}: ${id}`]));

/** Returns what a reader has to know before a story of this scenario. */
export const headOf = ({ cloud }: { readonly cloud: Pick<ExploredCloud, 'machine' | 'disk'> }): readonly string[] => [
  'One second here stands for one step of the clock. The waits of the protocol are shortened.',
  ...legendOf(cloud),
];

type NodeStep = Extract<Step, { readonly node: unknown }>;

const nodeStepInWords = (step: NodeStep): string => {
  const node = `Node ${step.node.name} (${step.node.uid})`;
  switch (step.do) {
    case 'mark': {
      const taint = step.addOutOfService ? ' with our out-of-service taint' : '';
      return `mark ${node}${taint} (${fenceInWords(step.record.fence)})`;
    }
    case 'note':
      return `write the record on ${node}`;
    case 'park':
      return `park ${node}`;
    case 'lift-out-of-service':
      return `remove our out-of-service taint from ${node}`;
    case 'release-node':
      return `release ${node}`;
    case 'delete-node':
      return `delete ${node}`;
    case 'set-tombstone':
      return step.tombstone === null ? `remove the tombstone from ${node}` : `write a tombstone on ${node}`;
    case 'note-stopping':
      return step.stopping === null
        ? `remove from ${node} that its machine is stopping`
        : `note on ${node} that its machine is stopping`;
  }
};

/** Returns what a step does, and to which object. */
export const stepInWords = (step: Step): string => {
  if ('node' in step) return nodeStepInWords(step);
  switch (step.do) {
    case 'delete-pod':
      return `delete pod ${step.pod.namespace}/${step.pod.name} (${step.pod.uid})`;
    case 'fail-pod':
      return `set pod ${step.pod.namespace}/${step.pod.name} (${step.pod.uid}) to Failed`;
    case 'delete-attachment':
      return `delete VolumeAttachment ${step.attachment.name} (${step.attachment.uid})`;
    case 'nudge':
      return step.on
        ? `nudge the attacher of VolumeAttachment ${step.attachment.name} (${step.attachment.uid})`
        : `remove the nudge from VolumeAttachment ${step.attachment.name} (${step.attachment.uid})`;
    case 'detach-disk':
      return `detach disk ${shortName(step.disk)} from machine ${shortName(step.from.machine)}, ${step.mode}`;
    case 'power-off':
      return `power off machine ${shortName(step.target.machine)}`;
  }
};

/** Returns what a run is about to do, and the codes of the reasons. */
export const plannedInWords = (planned: readonly PlannedStep[]): string => {
  const codes = new Set(planned.map(({ because }) => because.code));
  const steps = planned.map(({ step }) => stepInWords(step));
  return `${steps.join(' and to ')}, because of ${[...codes].join(' and ')}`;
};

const nodeInWords = ({ node }: World): string =>
  node === null
    ? 'no Node'
    : [
        `Node of boot ${node.boot} ${node.ready ? 'Ready' : 'NotReady'}`,
        ...(isTaintedByUs(node) ? ['out of service'] : []),
        ...(isQuarantined(node) ? ['quarantined'] : []),
      ].join(', ');

const powerInWords = ({ power, hibernates }: World['machine']): string => {
  if (hibernates && power === 'stopping') return 'hibernating';
  return hibernates && power === 'off' ? 'hibernated' : power;
};

const machineInWords = (world: World): string => {
  const { power, kernel, writes } = world.machine;
  if (isGone(world)) return power === 'gone' ? 'machine terminated' : 'machine terminated, and unknown to its cloud';
  return `machine ${powerInWords(world.machine)} (boot ${kernel})${writes ? ', its database writes' : ''}`;
};

const disksInWords = {
  here: 'attached to this machine',
  free: 'attached to no machine',
  there: 'attached to another machine, whose database writes',
} as const;

/** Returns a description of the world in one line. */
export const worldInWords = (world: World): string =>
  [
    machineInWords(world),
    nodeInWords(world),
    world.pod === 'gone' ? 'no pod' : `pod ${world.pod}`,
    world.attachment === 'gone' ? 'no VolumeAttachment' : `VolumeAttachment ${world.attachment}`,
    `disk ${disksInWords[world.disk]}`,
  ].join(' | ');

/** Returns the story with the time (s) of each sentence. */
export const timeline = (says: readonly string[]): readonly string[] => {
  let seconds = 0;
  const recovery = says.indexOf(RECOVERY_BEGINS);
  return says.flatMap((sentence, at) => {
    if (recovery !== -1 && at >= recovery) return [`        ${sentence}`];
    if (sentence !== TIME_PASSES) return [`${String(seconds).padStart(4)} s  ${sentence}`];
    seconds += TICK_MS / 1_000;
    return [];
  });
};

const storyFile = z.object({
  scenario: z.string(),
  /** What it shows. For a defect that is fixed: what it was. */
  about: z.string().optional(),
  breaks: z.custom<Broken>((name) => typeof name === 'string' && name in meanings, 'is no invariant').nullable(),
  says: z.array(z.string()).nonempty(),
});

/** Writes a story to a file that `npm run explore -- --replay` plays. */
export const saveStory = (path: string, scenario: string, story: Story): Promise<void> =>
  writeFile(path, `${JSON.stringify({ scenario, ...story }, null, 2)}\n`);

/** A story in a file. A story of a defect that is fixed breaks nothing any more. */
interface PinnedStory extends Pick<Story, 'says'> {
  readonly scenario: string;
  readonly about?: string | undefined;
  readonly breaks: Broken | null;
}

/** Reads a story. Throws if the file is not one. */
export const loadStory = async (path: string): Promise<PinnedStory> => {
  const read = storyFile.safeParse(JSON.parse(await readFile(path, 'utf8')));
  if (!read.success) throw new Error(`${path} is not a story: ${z.prettifyError(read.error)}`);
  return read.data;
};
