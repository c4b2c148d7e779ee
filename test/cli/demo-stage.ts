import { awsStage } from '../../demo/aws-stage.ts';
import { type News, play, type Played } from '../../demo/play.ts';
import { scenarioNamed } from '../../demo/scenarios.ts';
import type { AwsParts } from '../../sandbox/aws-sandbox.ts';

/** Plays a scenario and keeps both worlds and all that was told. */
export const played = async (
  scenario: string,
  options: { readonly seed?: number; readonly mayMark?: boolean } = {},
): Promise<Played<AwsParts> & { readonly news: readonly News[] }> => {
  const news: News[] = [];
  const end = await play(
    awsStage,
    { scenario: scenarioNamed(scenario), seed: 1, mayMark: true, ...options },
    (one) => void news.push(one),
  );
  return { ...end, news };
};
