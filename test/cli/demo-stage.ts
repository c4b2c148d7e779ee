import { demoCloud } from '../../demo/aws-cloud.ts';
import { type DemoNews, playScenario, type PlayedDemo } from '../../demo/play.ts';
import { scenarioNamed } from '../../demo/scenarios.ts';
import type { AwsParts } from '../../sandbox/aws-sandbox.ts';

/** Plays a scenario, and keeps both worlds and the whole report. */
export const played = async (
  scenario: string,
  options: { readonly seed?: number; readonly mayMark?: boolean } = {},
): Promise<PlayedDemo<AwsParts> & { readonly news: readonly DemoNews[] }> => {
  const news: DemoNews[] = [];
  const end = await playScenario(
    demoCloud,
    { scenario: scenarioNamed(scenario), seed: 1, mayMark: true, ...options },
    (one) => void news.push(one),
  );
  return { ...end, news };
};
