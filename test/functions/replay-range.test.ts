import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { replay } from '../../functions/aws/replay.ts';
import { openStandIn, type StandIn } from '../providers/stand-in.ts';

const BUS = 'arn:aws:events:eu-central-1:111122223333:event-bus/default';
const ARCHIVE = 'arn:aws:events:eu-central-1:111122223333:archive/cloudfence-prod';
const RULES = ['state-change', 'spot'].map((rule) => `arn:aws:events:eu-central-1:111122223333:rule/${rule}`);
const RANGE = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T01:00:00Z' };

/** EventBridge, which remembers the replays that were started. */
let bus: StandIn;
const started: unknown[] = [];

beforeAll(async () => {
  bus = await openStandIn(({ body }) => {
    started.push(JSON.parse(body.toString()));
    return { body: { State: 'STARTING' } };
  });
  vi.stubEnv('AWS_ENDPOINT_URL', bus.url);
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  vi.stubEnv('CLOUDFENCE_BUS_ARN', BUS);
  vi.stubEnv('CLOUDFENCE_ARCHIVE_ARN', ARCHIVE);
  vi.stubEnv('CLOUDFENCE_RULE_ARNS', RULES.join(','));
});
afterAll(() => {
  vi.unstubAllEnvs();
  return bus.close();
});

const limit = { getRemainingTimeInMillis: () => 60_000 };
const noDependencies = () => Promise.reject(new Error('nothing runs here'));

it('the replay of a time range reaches only the rules of this install, on its own bus', async () => {
  const { state } = Object(await replay(noDependencies)({ replay: RANGE }, limit));
  expect(state).toBe('STARTING');
  expect(started).toMatchObject([
    {
      EventSourceArn: ARCHIVE,
      Destination: { Arn: BUS, FilterArns: RULES },
      EventStartTime: Date.parse(RANGE.from) / 1_000,
      EventEndTime: Date.parse(RANGE.to) / 1_000,
    },
  ]);
});

it('another time range has another name, because EventBridge accepts each name once', async () => {
  const nameOf = async (range: typeof RANGE) => Object(await replay(noDependencies)({ replay: range }, limit)).replay;
  const name = await nameOf(RANGE);
  expect(await nameOf(RANGE)).toBe(name);
  expect(await nameOf({ ...RANGE, to: '2026-01-01T02:00:00Z' })).not.toBe(name);
  expect(await nameOf({ ...RANGE, from: '2026-01-01T00:30:00Z' })).not.toBe(name);
});
