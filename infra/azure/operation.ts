import { z } from 'zod';
import { Refused, Unavailable } from '../../fencing/model/errors.ts';
import { failureOf, isGood, type Answer, type Arm, type Call } from './arm.ts';

/** Long-running operations. https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations */

const BETWEEN_MS = 5_000;
/** Half an hour. */
const TIMES = 360;

const stateOf = z.object({ status: z.string() });

const isUnderWay = (answer: Answer): boolean => {
  if (answer.status === 202) return true;
  const state = stateOf.safeParse(answer.body).data?.status.toLowerCase();
  return state !== undefined && !['succeeded', 'failed', 'canceled'].includes(state);
};

const pace = ({ headers }: Answer): number => {
  const seconds = Number(headers.get('retry-after'));
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : BETWEEN_MS;
};

const placeOf = ({ headers }: Answer): string | undefined => headers.get('azure-asyncoperation') ?? headers.get('location');

/** Orders something, and waits for its end; what the end says. @throws Denied, Refused, Unavailable */
export const carriedOut = async (arm: Arm, order: Call): Promise<Answer> => {
  const begun = await arm.call(order);
  const place = placeOf(begun);
  if (place === undefined) return begun;
  let answer = begun;
  for (let times = 0; times < TIMES; times += 1) {
    await arm.wait(pace(answer));
    answer = await arm.ask({ method: 'GET', path: place });
    if (!isGood(answer)) throw failureOf(order, answer);
    if (!isUnderWay(answer)) return ended(order, answer);
  }
  throw new Unavailable(`${order.method} ${order.path.split('?')[0]} has not come to an end in half an hour`);
};

const ended = (order: Call, answer: Answer): Answer => {
  const state = stateOf.safeParse(answer.body).data?.status.toLowerCase();
  if (state !== 'failed' && state !== 'canceled') return answer;
  throw new Refused(failureOf(order, { status: answer.status, body: answer.body }).message.replace(/answered \d+/, `has ${state}:`));
};
