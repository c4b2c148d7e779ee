import { isDeepStrictEqual } from 'node:util';
import { Refused } from '../../fencing/model/errors.ts';
import type { ReportProgress } from '../serverless/deployer.ts';
import {
  type HttpResponse,
  type Api,
  type ApiCall,
  callUntilPropagated,
  errorStatusOf,
  errorFromResponse,
  isSuccess,
} from './api.ts';

/** One resource of the install in its wanted state. */
export interface Resource {
  /** A description for people. */
  readonly what: string;
  readonly host: ApiCall['host'];
  /** The path for reading and deleting it. */
  readonly path: string;
  /** The fields that it must have. Cloudfence does not manage other fields. */
  readonly wanted: object;
  readonly create: Omit<ApiCall, 'host'>;
  /** Null if the resource can never differ. */
  readonly change: Omit<ApiCall, 'host'> | null;
  /** True if the request names a service account, which can be too new to be known everywhere. */
  readonly namesAccount?: true;
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

/** Reports whether `found` has everything that is wanted. Lists of texts can be in any order. */
export const hasAllWanted = (found: unknown, wanted: unknown): boolean => {
  if (isTexts(found) && isTexts(wanted)) return isDeepStrictEqual(found.toSorted(), wanted.toSorted());
  if (Array.isArray(found) && Array.isArray(wanted))
    return found.length === wanted.length && wanted.every((one, at) => hasAllWanted(found[at], one));
  if (isFields(found) && isFields(wanted))
    return Object.entries(wanted).every(([key, value]) => hasAllWanted(found[key], value));
  return Object.is(found, wanted);
};

/**
 * Returns the resource, or null if Google itself says that it does not exist. The page of a proxy, or a path that no
 * API has, is not proof of that.
 */
export const findResource = async (
  api: Api,
  host: ApiCall['host'],
  path: string,
): Promise<HttpResponse['body'] | null> => {
  const call = { method: 'GET', host, path } as const;
  const answer = await api.ask(call);
  if (answer.status === 404 && errorStatusOf(answer) === 'NOT_FOUND') return null;
  if (!isSuccess(answer)) throw errorFromResponse(call, answer);
  return answer.body;
};

/**
 * Creates the resource, changes it, or leaves it. Returns the API's last answer about it.
 * @throws Refused if it exists in another state and cannot be changed
 */
export const ensure = async (api: Api, resource: Resource, say: ReportProgress): Promise<HttpResponse['body']> => {
  const { what, host, path, wanted, create, change, namesAccount } = resource;
  const present = await findResource(api, host, path);
  if (present === null)
    return runAndReport(say, `${what}: created`, () =>
      namesAccount ? callUntilPropagated(api, { host, ...create }) : api.call({ host, ...create }),
    );
  if (hasAllWanted(present, wanted)) return present;
  if (change === null)
    throw new Refused(`${what} exists with other settings, which cannot be changed: delete it, and deploy again`);
  return runAndReport(say, `${what}: changed`, () => api.call({ host, ...change }));
};

const runAndReport = async <T>(say: ReportProgress, what: string, act: () => Promise<T>): Promise<T> => {
  const answer = await act();
  say(what);
  return answer;
};

/** Makes sure that the resource does not exist. */
export const ensureAbsent = async (
  api: Api,
  { what, host, path }: Pick<Resource, 'what' | 'host' | 'path'>,
  say: ReportProgress,
): Promise<HttpResponse['body'] | null> => {
  const present = await findResource(api, host, path);
  if (present === null) return null;
  return runAndReport(say, `${what}: removed`, () => api.call({ host, method: 'DELETE', path }));
};
