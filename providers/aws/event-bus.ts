import { z } from 'zod';
import { Refused } from '../../fencing/model/errors.ts';
import { jsonTextSchema } from '../../fencing/model/json-text.ts';
import { goodAnswer, type HttpCall } from '../http-answer.ts';
import { createSignedCall, serviceUrl, type SignedCalls } from './signed-call.ts';

/** https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsRequestEntry.html */
interface BusEvent {
  readonly Source: string;
  readonly DetailType: string;
  readonly Resources: readonly string[];
  /** Epoch s. */
  readonly Time: number;
  /** JSON. */
  readonly Detail: string;
}

export type PutEvent = (event: BusEvent, signal: AbortSignal) => Promise<void>;

/** The bus takes a list of events and answers for each: a good status alone says nothing. */
const busAnswer = jsonTextSchema.pipe(z.object({ FailedEntryCount: z.literal(0) }));

/**
 * Returns a function that puts one event on the default bus of the region.
 * https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
 *
 * @throws PermissionDenied, Unavailable, Refused
 */
export const putEventOn =
  (options: SignedCalls): PutEvent =>
  async (event, signal) => {
    const call: HttpCall = {
      method: 'POST',
      url: `${serviceUrl('events', options)}/`,
      name: 'events:PutEvents',
      headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'AWSEvents.PutEvents' },
      body: JSON.stringify({ Entries: [event] }),
    };
    const { text } = goodAnswer(await createSignedCall('events', options)(call, signal), call);
    if (!busAnswer.safeParse(text).success) throw new Refused('events:PutEvents did not accept the event');
  };
