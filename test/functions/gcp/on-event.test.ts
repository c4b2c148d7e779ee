import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Unavailable } from '../../../fencing/model/errors.ts';
import { MAX_ATTEMPTS } from '../../../functions/acknowledge.ts';
import { onEvent } from '../../../functions/gcp/on-event.ts';
import { sweep } from '../../../functions/gcp/sweep.ts';
import type { Publish } from '../../../providers/gcp/publish.ts';
import { functionsTestChain } from '../../../providers/gcp/plugin/register.ts';
import { writerAs } from '../../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../../sandbox/cluster/get-objects.ts';
import { createGceSandbox, type WholeGceWorld } from '../../../sandbox/gce-sandbox.ts';
import { start } from '../../../sandbox/gce/instances.ts';
import { shutdownTakes, stopGuest } from '../../../sandbox/gce/scenario.ts';
import { diskIn, instanceIn } from '../../../sandbox/gce/state.ts';
import { gceDatabaseOnTwoNodes, nodeNameOf } from '../../../sandbox/scenes/gce-database.ts';
import { openKeyServer, type KeyServer } from '../../providers/gcp/key-server.ts';
import { memoryKeeper } from '../../incidents/memory-keeper.ts';
import { MINUTE } from '../../sandbox/gce/gce-world.ts';
import { bearer, claims, DOCTOR, installOver, pushOf, type GcpInstall } from './install.ts';

let keys: KeyServer;
beforeAll(async () => {
  keys = await openKeyServer();
});
afterAll(() => keys.close());

const stage = (prepare: (world: WholeGceWorld, holder: string) => void = () => undefined) => {
  const world = createGceSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
  const scene = gceDatabaseOnTwoNodes(world);
  prepare(world, scene.holder);
  stopGuest(world, scene.holder);
  world.advance(MINUTE / 2);
  return { world, ...scene, install: installOver(world, keys) };
};

/** The last audit log entry that would have passed the sink. */
const entryOf = (world: WholeGceWorld) =>
  world.parts.gce.events.findLast(({ protoPayload }) => protoPayload.methodName.endsWith('guestTerminate'));
const deliver = (install: GcpInstall, text: unknown, attributes = {}) =>
  onEvent(async () => install.dependencies)(pushOf(keys, text, attributes), install.limit());
const taints = (world: WholeGceWorld, machine: string) =>
  getObject(world, 'nodes', nodeNameOf(machine))?.spec.taints?.map(({ key }) => key) ?? [];
const decisions = ({ lines }: GcpInstall) => lines.map((line) => line['decision']);
const QUARANTINE = 'cloudfence.dev/quarantine';

describe('a test event that the function doctor sends, through the sweep', () => {
  const asked = async (delivers: boolean) => {
    const { world, install, holder } = stage();
    const { keeper, names } = memoryKeeper();
    const topics: string[] = [];
    const publish: Publish = async (topic, { text }) => {
      topics.push(topic);
      world.advance(1_000);
      if (delivers) expect(await onEvent(wired)(pushOf(keys, text), install.limit())).toEqual({ status: 204 });
    };
    const testChain = functionsTestChain(publish, () => 'again');
    const wired = async () => ({ ...install.dependencies, incidents: keeper, testChain });
    const byDoctor = `Bearer ${keys.token({ ...claims(), email: DOCTOR })}`;
    const request = { headers: { authorization: byDoctor }, body: { question: 'test-event' } };
    return { world, install, holder, names, topics, answer: await sweep(wired)(request, install.limit()) };
  };

  it('is confirmed by on-event, which looks at no machine', async () => {
    const { world, install, holder, names, topics, answer } = await asked(true);
    expect(answer).toMatchObject({
      status: 200,
      body: {
        checks: expect.arrayContaining([
          {
            what: 'test event: topic again → push → on-event',
            verdict: 'ok',
            says: expect.stringMatching(
              /^on-event received it after 1\d{3} ms, and acted on nothing\. Not tried: the log/,
            ),
          },
        ]),
      },
    });
    expect([topics, names(), decisions(install)]).toEqual([['again'], ['test-events/run-1.json'], ['test-event']]);
    expect(taints(world, holder)).toEqual([]);
  });

  it('fails if it does not arrive', async () => {
    expect((await asked(false)).answer).toMatchObject({
      status: 500,
      body: { conclusion: { missing: ['test event: topic again → push → on-event'] } },
    });
  });
});

it('is not confirmed if it came without Pub/Sub', async () => {
  const { install } = stage();
  const { keeper, names } = memoryKeeper();
  const { headers } = pushOf(keys, '');
  const alone = { headers, body: { cloudfence: 'test-event', id: 'one' } };
  await onEvent(async () => ({ ...install.dependencies, incidents: keeper }))(alone, install.limit());
  expect([names(), decisions(install)]).toEqual([[], ['not-understood']]);
});

describe('a pushed log entry', () => {
  it('fences the machine and is acknowledged', async () => {
    const { world, disk, holder, spare, install } = stage();
    expect(await deliver(install, entryOf(world))).toEqual({ status: 204 });
    world.advance(MINUTE);
    expect(taints(world, holder)).toContain(QUARANTINE);
    expect([diskIn(world, disk)?.users, world.parts.gce.violations, install.published]).toEqual([[spare], [], []]);
  });

  it('may arrive twice, and as a CloudEvent of Eventarc', async () => {
    const { world, holder, install } = stage();
    await deliver(install, entryOf(world));
    const cloudEvent = {
      headers: { authorization: bearer(keys), 'ce-type': 'google.cloud.audit.log.v1.written' },
      body: entryOf(world),
    };
    expect(await onEvent(async () => install.dependencies)(cloudEvent, install.limit())).toEqual({ status: 204 });
    expect(taints(world, holder).filter((key) => key === QUARANTINE)).toHaveLength(1);
    expect([world.parts.gce.violations, install.published]).toEqual([[], []]);
  });

  it.each(['other-project', 'sandbox-project-2'])(
    'of another project is refused, with its name (%s)',
    async (project) => {
      const { world, holder, install } = stage();
      const foreign = JSON.stringify(entryOf(world)).replaceAll('sandbox-project', project);
      expect(await deliver(install, foreign)).toEqual({ status: 204 });
      expect(install.lines).toMatchObject([
        { decision: 'foreign', says: expect.stringMatching(`project ${project}\\b.*serves only sandbox-project\\b`) },
      ]);
      expect(taints(world, holder)).not.toContain(QUARANTINE);
    },
  );

  it('causes log lines and metrics with the same names as on other clouds', async () => {
    const { world, install } = stage();
    await deliver(install, entryOf(world));
    const names = [
      'decision',
      'because',
      'says',
      'event',
      'instance',
      'cluster',
      'node',
      'dryRun',
      'step',
      'target',
      'result',
      'ms',
      'requestId',
    ];
    for (const line of install.lines) expect(Object.keys(line)).toEqual(expect.arrayContaining(names));
    expect(install.lines.at(-1)).toMatchObject({
      decision: 'fenced',
      Outcomes: 1,
      Outcome: 'fenced',
      EventToProof: expect.any(Number),
    });
    expect(install.lines.at(-1)).not.toHaveProperty('_aws');
  });
});

describe('a caller that is not the account that pushes', () => {
  it.each([
    ['without a token', () => ({}), 401],
    [
      'with a token of another account',
      () => ({ authorization: bearer(keys, { email: 'somebody@sandbox-project.iam.gserviceaccount.com' }) }),
      403,
    ],
    [
      'with a token for another audience',
      () => ({ authorization: bearer(keys, { aud: 'https://other.example.org' }) }),
      403,
    ],
    [
      'with a token of another issuer',
      () => ({ authorization: bearer(keys, { iss: 'https://accounts.example.org' }) }),
      403,
    ],
    ['with a token that Google has not signed', () => ({ authorization: bearer(keys, {}, 'forged') }), 403],
    [
      'with a token without its signature, if Cloud Run is not in front',
      () => ({ authorization: bearer(keys).replace(/\.[^.]+$/, '.SIGNATURE_REMOVED_BY_GOOGLE') }),
      403,
    ],
  ])('is rejected, and nothing happens (%s)', async (_, headers, status) => {
    const { world, holder, install } = stage();
    const answer = await onEvent(async () => install.dependencies)(
      { ...pushOf(keys, entryOf(world)), headers: headers() },
      install.limit(),
    );
    expect(answer).toEqual({ status });
    expect(decisions(install)).toEqual(['not-let-in']);
    expect([taints(world, holder).includes(QUARANTINE), install.published]).toEqual([false, []]);
  });

  it('is rejected, and the message delivered again, while the keys of tokens cannot be read', async () => {
    const { world, holder, install } = stage();
    const letIn = () => Promise.reject(new Unavailable("Google's public keys for tokens are not available"));
    const answer = await onEvent(async () => ({ ...install.dependencies, letIn }))(
      pushOf(keys, entryOf(world)),
      install.limit(),
    );
    expect(answer).toEqual({ status: 503 });
    expect(decisions(install)).toEqual(['not-let-in']);
    expect([taints(world, holder).includes(QUARANTINE), install.published]).toEqual([false, []]);
  });
});

describe('an unreadable message', () => {
  it.each([
    ['no JSON', '{"protoPayload":'],
    ['no event', { hello: 'world' }],
    ['an empty message', ''],
  ])('is published as a dead letter with its reason, and acknowledged (%s)', async (_, text) => {
    const { install } = stage();
    expect(await deliver(install, text)).toEqual({ status: 204 });
    expect(install.published).toEqual([
      {
        topic: 'dead-letters',
        text: typeof text === 'string' ? text : JSON.stringify(text),
        attributes: { reason: expect.stringMatching(/\(at .*\): /) },
      },
    ]);
  });

  it('keeps its bytes in the dead letter, even if they are not text', async () => {
    const { install } = stage();
    const zipped = gzipSync(JSON.stringify({ hello: 'world' }));
    const { headers } = pushOf(keys, '');
    const body = { message: { data: zipped.toString('base64'), messageId: 'm-1' } };
    expect(await onEvent(async () => install.dependencies)({ headers, body }, install.limit())).toEqual({
      status: 204,
    });
    expect(install.published.map(({ text }) => text)).toEqual([zipped.toString('base64')]);
  });

  it('is returned if it cannot be published', async () => {
    const { install } = stage();
    install.outage.topics = true;
    expect(await deliver(install, 'nonsense')).toEqual({ status: 503 });
  });
});

describe('a machine that has to wait', () => {
  const slow = () => stage((world, holder) => shutdownTakes(world, holder, 60_000));

  it('is published once more with the time of the next look, and is not looked at until then', async () => {
    const { world, holder, install } = slow();
    expect(await deliver(install, entryOf(world))).toEqual({ status: 204 });
    const [sent] = install.published;
    expect(sent).toMatchObject({ topic: 'again', attributes: { notBefore: expect.stringMatching(/^\d+$/) } });
    const lines = install.lines.length;
    expect(await deliver(install, sent?.text, sent?.attributes)).toEqual({ status: 429 });
    expect(install.lines).toHaveLength(lines);
    world.advance(MINUTE);
    expect(await deliver(install, sent?.text, sent?.attributes)).toEqual({ status: 204 });
    expect(taints(world, holder)).toContain(QUARANTINE);
  });

  it('is fenced when the cap has room again, fifteen minutes after the fence that filled it', async () => {
    const { world, holder, install } = stage();
    const ledger = getObject(world, 'configmaps', 'cloudfence-ledger', 'kube-system');
    if (ledger) ledger.data = { fences: `another--- - ${Math.floor(world.now() / 1_000)} f 2` };
    await deliver(install, entryOf(world));
    expect(install.lines.at(-2)).toMatchObject({ decision: 'refused', because: 'cap-reached', CapReached: 1 });
    const [sent] = install.published;
    expect(Number(sent?.attributes['notBefore']) - world.now()).toBeGreaterThan(14 * MINUTE);
    world.advance(15 * MINUTE);
    await deliver(install, sent?.text, sent?.attributes);
    expect(taints(world, holder)).toContain(QUARANTINE);
  });

  it('is left to the sweep in the end', async () => {
    const { world, install } = stage((world, holder) => {
      world.parts.gce.knobs.shutdownLimit = 600 * MINUTE;
      shutdownTakes(world, holder, null);
    });
    let text: unknown = entryOf(world);
    for (let hop = 0; hop <= MAX_ATTEMPTS; hop += 1) {
      await deliver(install, text);
      text = install.published.at(-1)?.text;
    }
    expect(install.published).toHaveLength(MAX_ATTEMPTS);
    expect(decisions(install).at(-1)).toBe('handed-to-sweep');
  });

  it('carries the record, so that a Node that is deleted meanwhile is still fenced to the end', async () => {
    const { world, disk, holder, spare, install } = stage();
    world.parts.cluster.knobs.attacherDown = true;
    const never = {
      ...install,
      dependencies: { ...install.dependencies, policy: { ...install.dependencies.policy, detach: 'never' as const } },
    };
    await deliver(never, entryOf(world));
    const [sent] = install.published;
    expect(JSON.parse(sent?.text ?? '{}')).toMatchObject({ record: { machine: holder } });
    const node = getObject(world, 'nodes', nodeNameOf(holder));
    if (node) writerAs(world, 'somebody').remove('nodes', node);
    world.parts.cluster.knobs.attacherDown = false;
    world.advance(MINUTE);
    expect(await deliver(never, sent?.text, sent?.attributes)).toEqual({ status: 204 });
    world.advance(5 * MINUTE);
    expect([diskIn(world, disk)?.users, world.parts.gce.violations]).toEqual([[spare], []]);
  });

  it('is released in two steps once the machine runs again', async () => {
    const { world, holder, install } = stage();
    await deliver(install, entryOf(world));
    const instance = instanceIn(world, holder);
    if (instance) start(world, instance);
    await deliver(install, { instance: holder });
    for (let hop = 0; hop < MAX_ATTEMPTS && decisions(install).at(-1) === 'look-again'; hop += 1) {
      world.advance(MINUTE);
      const sent = install.published.at(-1);
      await deliver(install, sent?.text, sent?.attributes);
    }
    expect(decisions(install).at(-1)).toBe('released');
    expect(taints(world, holder)).toEqual([]);
  });
});

it('is returned after a failure', async () => {
  const { world, install } = stage();
  install.outage.compute = true;
  expect(await deliver(install, entryOf(world))).toEqual({ status: 503 });
});

describe('a message that fails each time', () => {
  /** The answer to a delivery of this text. */
  const receiver = (install: GcpInstall, text: unknown) => {
    const pushed = pushOf(keys, text);
    return (deliveryAttempt: number) =>
      onEvent(async () => install.dependencies)(
        { ...pushed, body: { ...Object(pushed.body), deliveryAttempt } },
        install.limit(),
      );
  };

  it('is a dead letter with its reason at the last delivery, before Pub/Sub makes it one without', async () => {
    const { world, install } = stage();
    install.outage.compute = true;
    const receive = receiver(install, entryOf(world));
    expect(await receive(19)).toEqual({ status: 503 });
    expect(install.published).toEqual([]);
    expect(await receive(20)).toEqual({ status: 204 });
    expect(install.published).toMatchObject([
      { topic: 'dead-letters', attributes: { reason: expect.stringMatching(/^the message failed 20 times: /) } },
    ]);
  });

  it('is delivered again if the topic of dead letters cannot be reached either', async () => {
    const { world, install } = stage();
    install.outage.compute = true;
    install.outage.topics = true;
    expect(await receiver(install, entryOf(world))(20)).toEqual({ status: 503 });
    expect(install.published).toEqual([]);
  });

  it('is returned at that delivery if it is a waiting message, because its early deliveries count, too', async () => {
    const { world, install } = stage((world, holder) => shutdownTakes(world, holder, 60_000));
    await deliver(install, entryOf(world));
    const [waiting] = install.published;
    world.advance(MINUTE);
    install.outage.compute = true;
    const receive = receiver(install, waiting?.text);
    expect(await receive(20)).toEqual({ status: 503 });
    expect(await receive(99)).toEqual({ status: 503 });
    expect(install.published).toEqual([waiting]);
  });
});
