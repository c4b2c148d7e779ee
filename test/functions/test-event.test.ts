import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { PermissionDenied, Unavailable } from '../../fencing/model/errors.ts';
import { parseJsonOrNull } from '../../fencing/model/json-text.ts';
import { onEvent } from '../../functions/aws/on-event.ts';
import { tryTestEvent } from '../../functions/test-event.ts';
import { putEventOn } from '../../providers/aws/signed-calls.ts';
import { testChainOver } from '../../providers/aws/test-chain.ts';
import type { TestChain } from '../../providers/plugin.ts';
import { SANDBOX_ACCOUNT, SANDBOX_REGION } from '../../sandbox/aws-sandbox.ts';
import { resourcesIn } from '../infra/aws/source-files.ts';
import { openStandIn } from '../providers/stand-in.ts';
import { stopped } from '../simulation/incidents.ts';
import { stateOf } from '../simulation/state.ts';
import { again, batchOf, installOver, stateChange, type Install } from './install.ts';

/** The test event of the doctor on AWS: from PutEvents over HTTP, through the shipped rule, to on-event and back. */

const INSTALL = 'cloudfence-prod';
const never = new AbortController().signal;

const pattern = z.object({
  source: z.array(z.string()),
  'detail-type': z.array(z.string()),
  detail: z.object({ install: z.array(z.string()) }),
});
const written = JSON.stringify(resourcesIn('events.yml')['TestEventRule']?.Properties['EventPattern']);
const rule = pattern.parse(JSON.parse(written.replaceAll('${self:service}-${sls:stage}', INSTALL)));

const putEvents = z.object({
  Entries: z.tuple([
    z.object({ Source: z.string(), DetailType: z.string(), Detail: z.string(), Resources: z.array(z.string()) }),
  ]),
});

/** The event that EventBridge creates from the entry, if the rule matches it. */
const matched = (body: string): object | null => {
  const [{ Source, DetailType, Detail, Resources }] = putEvents.parse(JSON.parse(body)).Entries;
  const detail = z.looseObject({ install: z.string() }).parse(parseJsonOrNull(Detail));
  const matches =
    rule.source.includes(Source) &&
    rule['detail-type'].includes(DetailType) &&
    rule.detail.install.includes(detail.install);
  return matches
    ? {
        version: '0',
        id: 'e-test',
        source: Source,
        'detail-type': DetailType,
        account: SANDBOX_ACCOUNT,
        region: SANDBOX_REGION,
        time: '2026-01-01T00:00:30Z',
        resources: Resources,
        detail,
      }
    : null;
};

let bus: Awaited<ReturnType<typeof openStandIn>>;
const published: object[] = [];
beforeAll(async () => {
  bus = await openStandIn(({ headers, body }) => {
    if (headers['x-amz-target'] !== 'AWSEvents.PutEvents') return { status: 400 };
    published.push(...[matched(body.toString()) ?? []].flat());
    return { status: 200, body: '{"FailedEntryCount":0,"Entries":[{"EventId":"e-test"}]}' };
  });
});
afterAll(() => bus.close());
beforeEach(() => void published.splice(0));

const credentials = { accessKeyId: 'AKIATEST', secretAccessKey: 'secret' };
const put: Parameters<typeof testChainOver>[1] = (event, signal) =>
  putEventOn({ region: SANDBOX_REGION, credentials, endpoint: bus.url })(event, signal);

const deliver = (install: Install, ...bodies: readonly unknown[]) =>
  onEvent(async () => install.dependencies)(batchOf(...bodies), install.context());

const stage = () => {
  const { world, scene } = stopped();
  return { world, scene, install: installOver(world), before: stateOf(world) };
};
type Stage = ReturnType<typeof stage>;

/** The queue delivers it a second later. */
const chainOf = (
  { world, install }: Stage,
  queue: (event: object) => Promise<unknown> = (event) => deliver(install, event),
): TestChain => {
  const chain = testChainOver(INSTALL, put, world.now);
  return {
    ...chain,
    send: async (event, signal) => {
      await chain.send(event, signal);
      world.advance(1_000);
      for (const one of published) await queue(one);
    },
  };
};
const tried = ({ install }: Stage, chain: TestChain) => tryTestEvent(chain, install.dependencies, 50_000, never);

describe('a test event', () => {
  it('reaches on-event through its rule, and the doctor says how long that took', async () => {
    const here = stage();
    const check = await tried(here, chainOf(here));
    expect(check).toMatchObject({
      what: `test event: event bus → rule ${INSTALL}-test-event → queue ${INSTALL} → on-event`,
      verdict: 'ok',
    });
    expect(check.says).toMatch(
      /^on-event received it after 1\d{3} ms, and acted on nothing\. Not tried: the rule cloudfence-prod-state-change/,
    );
    expect(here.install.history.names()).toEqual(['test-events/run-1.json']);
    expect(here.install.lines).toMatchObject([{ decision: 'test-event', instance: null }]);
  });

  it.each([{ id: '../../x' }, { id: 'x'.repeat(65) }, { cloudfence: 'other', id: 'a' }, 'text'])(
    'is no dead letter if it is malformed, because everybody in the account may send it: %j',
    async (detail) => {
      const { world, install, before } = stage();
      expect(
        await deliver(install, { source: 'cloudfence.test', 'detail-type': 'Cloudfence Test Event', detail }),
      ).toEqual(again());
      expect(stateOf(world)).toEqual(before);
      expect(install.history.names()).toEqual([]);
      expect(install.lines).toMatchObject([{ decision: 'test-event', because: 'ignored' }]);
    },
  );

  it('fences nothing, even if it names a machine that is off', async () => {
    const here = stage();
    const { world, scene, install, before } = here;
    const forged = stateChange(scene.holder, 'stopped', {
      source: 'cloudfence.test',
      'detail-type': 'Cloudfence Test Event',
      detail: { cloudfence: 'test-event', id: 'forged', 'instance-id': scene.holder, state: 'stopped' },
    });
    const asked: string[] = [];
    const ports = {
      ...install.dependencies.ports,
      cloud: {
        ...install.dependencies.ports.cloud,
        look: (...[machines]: Parameters<typeof install.dependencies.ports.cloud.look>) => (
          asked.push(...machines),
          Promise.reject(new Error('looked'))
        ),
      },
    };
    const watched = { ...install, dependencies: { ...install.dependencies, ports } };
    expect(await deliver(watched, forged)).toEqual(again());
    expect(stateOf(world)).toEqual(before);
    expect(asked).toEqual([]);
    expect(install.lines.map(({ decision }) => decision)).toEqual(['test-event']);
    expect(install.history.incidents()).toEqual([]);
  });

  it('does not affect the other messages of its batch', async () => {
    const { world, scene, install } = stage();
    const test = {
      source: 'cloudfence.test',
      'detail-type': 'Cloudfence Test Event',
      detail: { cloudfence: 'test-event', id: 'one' },
    };
    await deliver(install, test, stateChange(scene.holder));
    expect(stateOf(world).nodes).toContainEqual(expect.stringContaining('quarantine'));
  });

  it('does not count if it has the source of a test event but concerns a machine', async () => {
    const { scene, install } = stage();
    await deliver(install, stateChange(scene.holder, 'stopped', { source: 'cloudfence.test' }));
    expect(install.history.incidents()).toMatchObject([{ machine: scene.holder }]);
  });

  it('does not count if AWS sent it, or if it came without a queue', async () => {
    const { scene, install } = stage();
    const test = { cloudfence: 'test-event', id: 'one' };
    await deliver(
      install,
      stateChange(scene.holder, 'stopped', { detail: { ...test, 'instance-id': scene.holder, state: 'stopped' } }),
    );
    const alone = { source: 'cloudfence.test', detail: test };
    await expect(onEvent(async () => install.dependencies)(alone, install.context())).rejects.toThrow('not an event');
    expect(install.lines.map(({ decision }) => decision)).not.toContain('test-event');
    expect(install.history.incidents()).toMatchObject([{ machine: scene.holder }]);
  });
});

describe('the doctor', () => {
  it('says where to look if no test event arrives', async () => {
    const here = stage();
    const check = await tried(
      here,
      chainOf(here, async () => undefined),
    );
    expect(check).toMatchObject({ verdict: 'fail', next: expect.stringContaining('list-event-source-mappings') });
    expect(check.says).toMatch(
      /did not confirm it within 30 s: look whether the rule .* is enabled, whether the event is in the queue cloudfence-prod-dead-letters/,
    );
  });

  it('says so if on-event gets the test event but cannot confirm it', async () => {
    const here = stage();
    const { install } = here;
    let writes = true;
    install.history.trouble.before = async () => {
      if (writes) throw new Unavailable('s3:PutObject got no response');
    };
    const chain = chainOf(here, async (event) => {
      await deliver(install, event);
      writes = false;
    });
    expect(await tried(here, chain)).toMatchObject({ verdict: 'fail' });
    expect(install.lines).toMatchObject([
      { decision: 'failed', because: 'test-event', says: expect.stringContaining('s3:PutObject') },
    ]);
  });

  it('names the permission that it lacks to send a test event', async () => {
    const here = stage();
    const denied = () => Promise.reject(new PermissionDenied('events:PutEvents is denied'));
    expect(await tried(here, { ...chainOf(here), send: denied })).toMatchObject({
      verdict: 'fail',
      says: expect.stringMatching(/^events:PutEvents is denied: look /),
    });
  });

  it('sends no test event if there is no place where its arrival could show', async () => {
    const here = stage();
    const { incidents: _none, ...dependencies } = here.install.dependencies;
    expect(await tryTestEvent(chainOf(here), dependencies, 50_000, never)).toMatchObject({
      verdict: 'warn',
      says: expect.stringContaining('not tried'),
    });
    expect(published).toEqual([]);
  });
});
