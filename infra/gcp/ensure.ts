import { isDeepStrictEqual } from 'node:util';
import { Refused } from '../../fencing/model/errors.ts';
import type { Say } from '../serverless/deployer.ts';
import { type Answer, type Api, type Call, callSoon, codeOf, failureOf, isGood } from './api.ts';

/** One thing of ours, as it should be. */
export interface Resource {
  /** For people. */
  readonly what: string;
  readonly host: Call['host'];
  /** Where it is read and deleted. */
  readonly path: string;
  /** What has to be found there; fields beside these are not ours. */
  readonly wanted: object;
  readonly create: Omit<Call, 'host'>;
  /** Null for what never differs. */
  readonly change: Omit<Call, 'host'> | null;
  /** Names an account, which may have been made a moment ago and not be known everywhere. */
  readonly namesAccount?: true;
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

/** Whether all that is wanted is found; lists of texts in any order. */
export const covers = (found: unknown, wanted: unknown): boolean => {
  if (isTexts(found) && isTexts(wanted)) return isDeepStrictEqual(found.toSorted(), wanted.toSorted());
  if (Array.isArray(found) && Array.isArray(wanted))
    return found.length === wanted.length && wanted.every((one, at) => covers(found[at], one));
  if (isFields(found) && isFields(wanted))
    return Object.entries(wanted).every(([key, value]) => covers(found[key], value));
  return Object.is(found, wanted);
};

/** Null when Google itself says that there is none: a page of a proxy, or a path that no API has, says nothing. */
export const found = async (api: Api, host: Call['host'], path: string): Promise<Answer['body'] | null> => {
  const call = { method: 'GET', host, path } as const;
  const answer = await api.ask(call);
  if (answer.status === 404 && codeOf(answer) === 'NOT_FOUND') return null;
  if (!isGood(answer)) throw failureOf(call, answer);
  return answer.body;
};

/** Makes it, changes it, or leaves it; what the API last said of it. */
export const ensure = async (api: Api, resource: Resource, say: Say): Promise<Answer['body']> => {
  const { what, host, path, wanted, create, change, namesAccount } = resource;
  const present = await found(api, host, path);
  if (present === null)
    return told(say, `${what}: made`, () =>
      namesAccount ? callSoon(api, { host, ...create }) : api.call({ host, ...create }),
    );
  if (covers(present, wanted)) return present;
  if (change === null) throw new Refused(`${what} is there, and not as it should be: delete it, and deploy again`);
  return told(say, `${what}: changed`, () => api.call({ host, ...change }));
};

const told = async <T>(say: Say, what: string, act: () => Promise<T>): Promise<T> => {
  const answer = await act();
  say(what);
  return answer;
};

/** Gone afterwards, whether or not it was there. */
export const absent = async (
  api: Api,
  { what, host, path }: Pick<Resource, 'what' | 'host' | 'path'>,
  say: Say,
): Promise<Answer['body'] | null> => {
  const present = await found(api, host, path);
  if (present === null) return null;
  return told(say, `${what}: removed`, () => api.call({ host, method: 'DELETE', path }));
};
