import { z } from 'zod';
import { CloudfenceError } from '../fencing/model/errors.ts';
import { jsonTextSchema } from '../fencing/model/json-text.ts';
import type { ObjectStore } from '../incidents/store.ts';
import type { Check } from '../providers/check.ts';
import type { TestChain } from '../providers/plugin.ts';
import type { DoctorDependencies } from './dependencies.ts';
import { testEventObject } from './messages.ts';

/**
 * The doctor's test event. The doctor sends it through the deployed chain, and waits until on-event confirms it
 * (`confirmTestEvents`).
 */

const confirmation = jsonTextSchema.pipe(z.object({ receivedAt: z.number() }));

/** A function behind a queue may need seconds for a cold start (ms). */
const ARRIVES_WITHIN_MS = 30_000;
const EVERY_MS = 500;

interface TestDependencies {
  readonly ports: Pick<DoctorDependencies['ports'], 'clock'>;
  readonly incidents?: { readonly objects: Pick<ObjectStore, 'read'> };
  readonly newRunId: () => string;
}

/** Returns when on-event received the event (epoch ms), or null if it did not arrive in time. */
const arrivalOf = async (
  id: string,
  { incidents, ports: { clock } }: TestDependencies,
  until: number,
  signal: AbortSignal,
): Promise<number | null> => {
  while (clock.now().mono < until) {
    const found = await incidents?.objects.read(testEventObject(id), signal).catch((error: unknown) => {
      if (error instanceof CloudfenceError && error.retry) return null;
      throw error;
    });
    if (found) return confirmation.safeParse(found.text).data?.receivedAt ?? null;
    await clock.sleep(EVERY_MS, signal);
  }
  return null;
};

const WITHOUT_CONFIRMATION =
  'not tried: this install keeps no incidents, so nothing could show the arrival: set `incidentBucket` ' +
  '(docs/incidents.md)';

/** Sends a test event, and waits until on-event has confirmed it. `lasts` is the time limit (ms). */
export const tryTestEvent = async (
  chain: TestChain,
  dependencies: TestDependencies,
  lasts: number,
  signal: AbortSignal,
): Promise<Check> => {
  const { ports, incidents, newRunId } = dependencies;
  const { path, notTried, remedy, next } = chain;
  const what = `test event: ${path}`;
  if (!incidents) return { what, verdict: 'warn', says: WITHOUT_CONFIRMATION };
  const id = newRunId();
  const sent = ports.clock.now();
  const waitsAtMost = Math.max(0, Math.min(ARRIVES_WITHIN_MS, lasts));
  try {
    await chain.send({ cloudfence: 'test-event', id }, signal);
    const receivedAt = await arrivalOf(id, dependencies, sent.mono + waitsAtMost, signal);
    const seconds = Math.round(waitsAtMost / 1_000);
    if (receivedAt === null)
      return {
        what,
        verdict: 'fail',
        says: `it was sent, and on-event did not confirm it within ${seconds} s: ${remedy}`,
        next,
      };
    const ms = Math.max(0, Math.round(receivedAt - sent.wall));
    const gap = notTried === null ? '' : `. Not tried: ${notTried}`;
    return { what, verdict: 'ok', says: `on-event received it after ${ms} ms, and acted on nothing${gap}` };
  } catch (error) {
    if (error instanceof CloudfenceError) return { what, verdict: 'fail', says: `${error.message}: ${remedy}`, next };
    throw error;
  }
};
