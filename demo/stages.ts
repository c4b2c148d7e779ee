import { InvalidInput } from '../fencing/model/errors.ts';
import type { ClusterParts } from '../sandbox/cluster/cluster-world.ts';
import { playedJson, tableLines, verdictLines } from './table.ts';
import { type Demo, play, type Tell } from './play.ts';
import type { Scenario } from './scenarios.ts';
import type { CloudStage } from './stage.ts';

/** The result of a demo, on any cloud. */
interface Shown {
  readonly right: boolean;
  readonly lines: readonly string[];
  readonly json: object;
}

type Show = (demo: Demo, tell: Tell) => Promise<Shown>;

interface Playable {
  readonly without: Readonly<Record<string, string>>;
  readonly show: Show;
}

const playable = <P extends ClusterParts>(stage: CloudStage<P>): Playable => ({
  without: stage.without,
  show: async (demo, tell) => {
    const end = await play(stage, demo, tell);
    return {
      right: end.verdict.right,
      lines: ['', ...tableLines(end), '', ...verdictLines(end)],
      json: playedJson(end),
    };
  },
});

/**
 * Loads a stage only when it is played. Each cloud has one line here, and its stage. The first cloud is the default.
 */
const stages: Readonly<Record<string, () => Promise<Playable>>> = {
  aws: async () => playable((await import('./aws-stage.ts')).awsStage),
  azure: async () => playable((await import('./azure-stage.ts')).azureStage),
  gcp: async () => playable((await import('./gcp-stage.ts')).gcpStage),
};

/**
 * Returns how to show the scenario on a cloud.
 * @throws InvalidInput if there is no such cloud, or if the scenario shows nothing on it
 */
export const showOn = async (said: string | undefined, { name }: Pick<Scenario, 'name'>): Promise<Show> => {
  const cloud = said ?? Object.keys(stages)[0] ?? '';
  const load = Object.hasOwn(stages, cloud) ? stages[cloud] : undefined;
  if (!load)
    throw new InvalidInput(`the demo plays on ${Object.keys(stages).join(', ')}; there is no cloud named "${cloud}"`);
  const { without, show } = await load();
  const lack = without[name];
  if (lack !== undefined) throw new InvalidInput(`the scenario "${name}" shows nothing on ${cloud}: ${lack}`);
  return show;
};
