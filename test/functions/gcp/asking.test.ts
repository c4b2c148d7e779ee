import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { PermissionDenied, InvalidConfiguration, Unavailable } from '../../../fencing/model/errors.ts';
import { forwardQuestion } from '../../../functions/gcp/http.ts';
import { sweep } from '../../../functions/gcp/sweep.ts';
import { createGceSandbox } from '../../../sandbox/gce-sandbox.ts';
import { stopGuest } from '../../../sandbox/gce/scenario.ts';
import { gceDatabaseOnTwoNodes } from '../../../sandbox/scenes/gce-database.ts';
import { parseJsonOrNull } from '../../../fencing/model/json-text.ts';
import { openKeyServer, type KeyServer } from '../../providers/gcp/key-server.ts';
import { openStandIn, type Answered, type StandIn } from '../../providers/stand-in.ts';
import { bearer, claims, DOCTOR, installOver } from './install.ts';

/** The account of the doctor may only ask the sweep, which answers with the account that fences. */

let keys: KeyServer;
beforeAll(async () => {
  keys = await openKeyServer();
});
afterAll(() => keys.close());

const limit = { getRemainingTimeInMillis: () => 30_000 };
const byDoctor = () => `Bearer ${keys.token({ ...claims(), email: DOCTOR })}`;

const stopped = () => {
  const world = createGceSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
  const { holder } = gceDatabaseOnTwoNodes(world);
  stopGuest(world, holder);
  world.advance(120_000);
  const install = installOver(world, keys);
  const ask = (authorization: string | undefined, body?: object) =>
    sweep(async () => install.dependencies)(
      { headers: { ...(authorization !== undefined && { authorization }) }, body },
      install.limit(),
    );
  return { world, install, ask };
};

describe('the sweep', () => {
  it.each([
    ['checks', { checks: expect.arrayContaining([expect.objectContaining({ what: 'sandbox: may patch nodes' })]) }],
    ['fences', { fences: [] }],
  ])('answers the doctor’s question about %s and fences nothing', async (question, body) => {
    const { world, ask } = stopped();
    const before = JSON.stringify(world.parts.cluster.objects);
    expect(await ask(byDoctor(), { question })).toMatchObject({ body });
    expect(JSON.stringify(world.parts.cluster.objects)).toBe(before);
  });

  it.each([
    ['the doctor without a question', () => byDoctor(), undefined, 403],
    ['the doctor with an order', () => byDoctor(), { instance: 'projects/p/zones/z/instances/i' }, 403],
    ['Cloud Scheduler with a question', () => bearer(keys), { question: 'fences' }, 403],
    ['a question without an account', () => undefined, { question: 'fences' }, 401],
    [
      'a question from another account',
      () => `Bearer ${keys.token({ ...claims(), email: 'me@example.org' })}`,
      { question: 'fences' },
      403,
    ],
  ])('rejects %s', async (_, who, body, status) => {
    const { world, ask } = stopped();
    const before = JSON.stringify(world.parts.cluster.objects);
    expect(await ask(who(), body)).toEqual({ status });
    expect(JSON.stringify(world.parts.cluster.objects)).toBe(before);
  });
});

describe('the doctor', () => {
  let standIn: StandIn | undefined;
  afterEach(() => standIn?.close());
  let heard: unknown;
  const sweepThat = async (answer: Answered): Promise<string> => {
    standIn = await openStandIn(({ body }) => {
      heard = parseJsonOrNull(String(body));
      return answer;
    });
    return standIn.url;
  };
  const asked = async (answer: Answered, body?: unknown) => {
    const askedAt = await sweepThat(answer);
    return forwardQuestion(() => ({ askedAt }))({ headers: {}, body }, limit);
  };

  it.each([
    [undefined, { question: 'checks' }],
    [{}, { question: 'checks' }],
    [{ question: 'fences' }, { question: 'fences' }],
  ])('sends %j to the sweep, and returns its answer', async (body, question) => {
    expect(await asked({ body: { fences: [] } }, body)).toEqual({ status: 200, body: { fences: [] } });
    expect(heard).toEqual(question);
  });

  it('reports that a fence would not work', async () => {
    expect(await asked({ status: 500, body: { verdict: 'fail' } })).toEqual({ status: 500, body: { verdict: 'fail' } });
  });

  it.each([
    ['is denied', { status: 403 }, PermissionDenied],
    ['gets an empty answer', { status: 200, body: '' }, Unavailable],
    ['gets an HTML page', { status: 502, body: '<html>' }, Unavailable],
  ])('reports in words that it %s', async (_, answer, kind) => {
    await expect(asked(answer)).rejects.toBeInstanceOf(kind);
  });

  it('reports that no function answers, or that it does not know which function to ask', async () => {
    await expect(
      forwardQuestion(() => ({ askedAt: 'http://127.0.0.1:9' }))({ headers: {} }, limit),
    ).rejects.toBeInstanceOf(Unavailable);
    await expect(forwardQuestion(() => ({ askedAt: null }))({ headers: {} }, limit)).rejects.toBeInstanceOf(
      InvalidConfiguration,
    );
  });
});
