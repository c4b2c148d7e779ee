import { z } from 'zod';
import { asCloudfenceError, CloudfenceError } from '../fencing/model/errors.ts';
import type { Clock } from '../fencing/loop/ports.ts';
import { jsonTextSchema, parseJsonOrNull } from '../fencing/model/json-text.ts';
import type { ObjectStore } from '../incidents/keep.ts';
import type { Check } from '../providers/check.ts';
import { TEST_DETAIL_TYPE, TEST_SOURCE, type TestChain } from '../providers/plugin.ts';
import { messageLine } from './decision-log.ts';
import type { DoctorDependencies } from './dependencies.ts';
import type { Message } from './messages.ts';
import { logDecision } from './metrics.ts';

/**
 * The doctor's test event. The doctor sends it through the deployed chain, and waits for its confirmation. It names no
 * machine: on-event removes it from a batch before it looks at any machine, and confirms its arrival with an object.
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

/** How on-event receives the event. */

const testEvent = z.object({ cloudfence: z.literal('test-event'), id: z.string().regex(/^[\w-]{1,64}$/) });
/**
 * An event on an EventBridge bus. Only AWS can put events of `aws.` on the bus. Anyone who may put events in the
 * account can use this format. So a malformed event of this kind does not indicate a fault of the chain.
 */
const eventBridgeForm = z
  .object({ source: z.literal(TEST_SOURCE), 'detail-type': z.literal(TEST_DETAIL_TYPE), detail: z.unknown() })
  .transform(({ detail }) => ({ id: testEvent.safeParse(detail).data?.id ?? null }));
const testEventInAnyForm = z.union([testEvent, eventBridgeForm]);

/** A test event. `id` is null if it is malformed. */
interface ReceivedTestEvent {
  readonly id: string | null;
}

/** Returns the test event that came through a queue, or null. Without a queue, it proves nothing. */
const testEventIn = ({ messageId, body }: Pick<Message, 'messageId' | 'body'>): ReceivedTestEvent | null =>
  testEventInAnyForm.safeParse(messageId === null ? null : parseJsonOrNull(body)).data ?? null;

/** Returns the name of the object that shows the arrival of a test event. */
const testEventObject = (id: string): string => `test-events/${id}.json`;

/** The time limit for writing the confirmation (ms). */
const CONFIRMING_LASTS_MS = 2_000;

interface ConfirmDependencies {
  /** Absent where an install keeps no incidents. */
  readonly incidents?: { readonly objects: Pick<ObjectStore, 'write'> };
  readonly ports: { readonly clock: Pick<Clock, 'now' | 'timeout'> };
  readonly log: (line: object) => void;
}

/** If the confirmation cannot be written, this is logged. The doctor then reports that it saw none. */
const confirm = async (
  { id }: ReceivedTestEvent,
  { incidents, ports: { clock }, log }: ConfirmDependencies,
): Promise<void> => {
  if (id === null) {
    log(messageLine(logDecision.testEvent, 'ignored', `a ${TEST_DETAIL_TYPE} has no valid id`, null));
    return;
  }
  const { wall: receivedAt } = clock.now();
  try {
    const text = `${JSON.stringify({ id, receivedAt })}\n`;
    await incidents?.objects.write(testEventObject(id), text, null, clock.timeout(CONFIRMING_LASTS_MS));
    log(messageLine(logDecision.testEvent, 'received', `the test event ${id} of the doctor arrived`, null));
  } catch (caught) {
    log(messageLine('failed', 'test-event', `${id}: ${asCloudfenceError(caught).message}`, null));
  }
};

/**
 * Removes the test events from a batch, confirms them, and processes the other messages. The processing does not wait
 * for the confirmation, but the process must not end before it.
 */
export const confirmTestEvents = async <M extends Pick<Message, 'messageId' | 'body'>, T>(
  messages: readonly M[],
  dependencies: ConfirmDependencies,
  work: (others: readonly M[]) => Promise<T>,
): Promise<T> => {
  const parsed = messages.map((message) => ({ message, arrival: testEventIn(message) }));
  const confirmed = Promise.all(parsed.flatMap(({ arrival }) => (arrival ? [confirm(arrival, dependencies)] : [])));
  try {
    return await work(parsed.flatMap(({ message, arrival }) => (arrival ? [] : [message])));
  } finally {
    await confirmed;
  }
};
