import { afterEach, describe, expect, it } from 'vitest';
import { CloudfenceError, ProofExpired, Unavailable } from '../../fencing/model/errors.ts';
import { PROOF_LASTS_MS, permitUntil } from '../../fencing/model/permit.ts';
import { systemClock } from '../../config/environment.ts';
import { proof } from '../permits.ts';
import { trustOnly } from './slow-front.ts';
import { subjects, type Subject } from './subjects.ts';

/** What every destructive call guarantees, whatever sends it, as the server that receives it sees it. */

const unhurried = (): AbortSignal => new AbortController().signal;

/** The error of its rejection, or a note that the call succeeded. */
const failure = (acting: Promise<unknown>): Promise<unknown> =>
  acting.then(
    (done) => ['done', done],
    (error: unknown) => error,
  );

/** Waits until everything on its way to the server has arrived. */
const arrivals = async ({ front }: Subject): Promise<readonly string[]> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  return front.arrived();
};

describe.each(subjects)('a destructive call to %s', (_name, open) => {
  let subject: Subject | null = null;
  const opened = async (): Promise<Subject> => (subject = await open());
  afterEach(async () => {
    trustOnly(null);
    await subject?.front.close();
  });

  it('is sent and reported while its proof lasts', async () => {
    const one = await opened();
    await one.act(proof().permit, unhurried());
    expect(one.front.arrived()).toHaveLength(1);
  });

  it('is not sent if its proof ends during a slow TLS handshake', async () => {
    const one = await opened();
    const { permit, end } = proof();
    one.front.holdHandshakes(one.readsBefore);
    const failed = failure(one.act(permit, unhurried()));
    await one.front.holding();
    await arrivals(one);
    end();
    expect(await failed).toBeInstanceOf(ProofExpired);
    one.front.release();
    expect(await arrivals(one)).toEqual([]);
  });

  it('is not sent if only the clock shows that the proof has ended, as in a process that was frozen', async () => {
    const one = await opened();
    const { permit, age } = proof();
    one.front.holdHandshakes(one.readsBefore);
    const failed = failure(one.act(permit, unhurried()));
    await one.front.holding();
    await arrivals(one);
    age();
    one.front.release();
    expect(await failed).toBeInstanceOf(ProofExpired);
    expect(await arrivals(one)).toEqual([]);
  });

  it('is not sent over a warm connection once its proof has ended', async () => {
    const one = await opened();
    await one.warm(unhurried());
    const { permit, age } = proof();
    age();
    expect(await failure(one.act(permit, unhurried()))).toBeInstanceOf(ProofExpired);
    expect(await arrivals(one)).toEqual([]);
    await one.act(proof().permit, unhurried());
    expect(one.front.arrived()).toHaveLength(1);
  });

  it('is reset if its answer has not come while its proof lasts, and its result is unknown', async () => {
    const one = await opened();
    const { permit, end } = proof();
    one.front.holdAnswers();
    const failed = failure(one.act(permit, unhurried()));
    await one.front.holding();
    end();
    expect(await failed).toBeInstanceOf(Unavailable);
    expect(await failed).toMatchObject({
      message: expect.stringMatching(/the next look shows whether the call took effect/),
      retry: true,
    });
    await expect.poll(() => one.front.resets()).toBe(1);
    one.front.release();
    expect(await arrivals(one)).toHaveLength(1);
  });

  it('is reset if the caller gives up', async () => {
    const one = await opened();
    const giveUp = new AbortController();
    one.front.holdAnswers();
    const failed = failure(one.act(proof().permit, giveUp.signal));
    await one.front.holding();
    giveUp.abort();
    expect(await failed).toMatchObject({
      message: expect.stringMatching(/the next look shows whether the call took effect/),
      retry: true,
    });
    await expect.poll(() => one.front.resets()).toBe(1);
  });

  it('does not follow a redirect', async () => {
    const one = await opened();
    one.front.redirect();
    expect(await failure(one.act(proof().permit, unhurried()))).toBeInstanceOf(CloudfenceError);
    expect(await arrivals(one)).toHaveLength(1);
  });

  it('is sent, and reported as done, if each call takes 520 ms and its connections are warm', async () => {
    const one = await opened();
    const clock = systemClock();
    await one.warm(unhurried());
    one.front.delay(520);
    const asked = clock.now().mono;
    await one.warm(unhurried());
    await one.act(permitUntil(asked + PROOF_LASTS_MS, clock), unhurried());
    expect(one.front.arrived()).toHaveLength(1);
  });
});
