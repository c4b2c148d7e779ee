import { z } from 'zod';
import { cloudNames } from '../app/clouds.ts';
import { InvalidInput } from '../fencing/model/errors.ts';
import type { ClusterParts } from '../sandbox/cluster/cluster-world.ts';
import { demoToJson, tableLines, verdictLines } from './table.ts';
import { openPractice, type Practice } from './practice.ts';
import { type Demo, playScenario, type ReportNews } from './play.ts';
import type { Scenario } from './scenarios.ts';
import type { DemoCloud } from './story.ts';

/** The result of a demo, on any cloud. */
interface DemoResult {
  readonly right: boolean;
  readonly lines: readonly string[];
  readonly json: object;
}

type PlayDemo = (demo: Demo, tell: ReportNews) => Promise<DemoResult>;

const playOn =
  (demoCloud: DemoCloud<ClusterParts>): PlayDemo =>
  async (demo, tell) => {
    const end = await playScenario(demoCloud, demo, tell);
    return {
      right: end.verdict.right,
      lines: ['', ...tableLines(end), '', ...verdictLines(end)],
      json: demoToJson(end),
    };
  };

const demoModule = z.object({
  demoCloud: z.custom<DemoCloud<ClusterParts>>((value) => typeof value === 'object' && value !== null),
});

/** Loads `demo/<cloud>-cloud.ts`. The bundler recognizes this form of the import, and bundles each of these files. */
const loadCloud = async (cloud: string): Promise<DemoCloud<ClusterParts>> => {
  if (!cloudNames.includes(cloud))
    throw new InvalidInput(`"${cloud}" is not a supported cloud: use one of ${cloudNames.join(', ')}`);
  try {
    return demoModule.parse(await import(`./${cloud}-cloud.ts`)).demoCloud;
  } catch (cause) {
    throw new InvalidInput(`the demo cannot simulate ${cloud}`, { cause });
  }
};

/**
 * Returns the function that shows the scenario on a cloud.
 * @throws InvalidInput if the cloud does not exist, or if the scenario does not apply to it
 */
export const loadDemo = async (cloud: string, { name }: Pick<Scenario, 'name'>): Promise<PlayDemo> => {
  const demoCloud = await loadCloud(cloud);
  const lack = demoCloud.showsNothing[name];
  if (lack !== undefined) throw new InvalidInput(`the scenario "${name}" shows nothing on ${cloud}: ${lack}`);
  return playOn(demoCloud);
};

/**
 * Opens the embedded cloud and cluster for practice.
 * @throws InvalidInput if there is no such cloud
 */
export const loadPractice = async (cloud: string, now: () => number): Promise<Practice> =>
  openPractice(await loadCloud(cloud), now);
