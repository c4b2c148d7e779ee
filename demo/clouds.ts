import { InvalidInput } from '../fencing/model/errors.ts';
import type { ClusterParts } from '../sandbox/cluster/cluster-world.ts';
import { demoToJson, tableLines, verdictLines } from './table.ts';
import { type Demo, playScenario, type ReportNews } from './play.ts';
import type { Scenario } from './scenarios.ts';
import type { DemoCloud } from './story.ts';

/** The result of a demo, on any cloud. */
interface Shown {
  readonly right: boolean;
  readonly lines: readonly string[];
  readonly json: object;
}

type Show = (demo: Demo, tell: ReportNews) => Promise<Shown>;

interface Playable {
  readonly without: Readonly<Record<string, string>>;
  readonly show: Show;
}

const playable = <P extends ClusterParts>(demoCloud: DemoCloud<P>): Playable => ({
  without: demoCloud.without,
  show: async (demo, tell) => {
    const end = await playScenario(demoCloud, demo, tell);
    return {
      right: end.verdict.right,
      lines: ['', ...tableLines(end), '', ...verdictLines(end)],
      json: demoToJson(end),
    };
  },
});

/**
 * Loads a stage only when it is played. Each cloud has one line here, and its stage. The first cloud is the default.
 */
const demoClouds: Readonly<Record<string, () => Promise<Playable>>> = {
  aws: async () => playable((await import('./aws-cloud.ts')).awsDemoCloud),
  azure: async () => playable((await import('./azure-cloud.ts')).azureDemoCloud),
  gcp: async () => playable((await import('./gcp-cloud.ts')).gcpDemoCloud),
};

/**
 * Returns how to show the scenario on a cloud.
 * @throws InvalidInput if there is no such cloud, or if the scenario shows nothing on it
 */
export const loadDemo = async (said: string | undefined, { name }: Pick<Scenario, 'name'>): Promise<Show> => {
  const cloud = said ?? Object.keys(demoClouds)[0] ?? '';
  const load = Object.hasOwn(demoClouds, cloud) ? demoClouds[cloud] : undefined;
  if (!load)
    throw new InvalidInput(`"${cloud}" is not a supported cloud: use one of ${Object.keys(demoClouds).join(', ')}`);
  const { without, show } = await load();
  const lack = without[name];
  if (lack !== undefined) throw new InvalidInput(`the scenario "${name}" shows nothing on ${cloud}: ${lack}`);
  return show;
};
