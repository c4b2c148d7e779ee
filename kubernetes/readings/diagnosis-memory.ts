import type { ObjectName } from '../../diagnosis/model/facts.ts';
import { PermissionDenied } from '../../fencing/model/errors.ts';

/** What one diagnosis has read. Each thing is read once, and what the credentials do not allow is noted. */

export type Paging = { readonly limit: number; readonly _continue?: string };

const keyOf = (of: ObjectName | string): string => (typeof of === 'string' ? of : `${of.namespace}/${of.name}`);

/** Reads each thing once, and notes what the credentials do not allow. */
export const createReadMemory = () => {
  const denied = new Set<string>();
  const allowed = async <T, D>(read: () => Promise<T>, without: D): Promise<T | D> => {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof PermissionDenied)) throw error;
      denied.add(error.message);
      return without;
    }
  };
  const once = <K extends ObjectName | string, T, D>(read: (key: K) => Promise<T>, without: D) => {
    const answers = new Map<string, Promise<T | D>>();
    return (key: K): Promise<T | D> => {
      const answer = answers.get(keyOf(key)) ?? allowed(() => read(key), without);
      answers.set(keyOf(key), answer);
      return answer;
    };
  };
  /** For a read without a key, such as a list. */
  const single = <T, D>(read: () => Promise<T>, without: D) => {
    const asked = once(() => read(), without);
    return () => asked('all');
  };
  return { allowed, once, single, unread: (): readonly string[] => [...denied].sort() };
};

export type ReadMemory = ReturnType<typeof createReadMemory>;

export const viewIfFound = <T, V>(read: Promise<T | null>, view: (object: T) => V): Promise<V | null> =>
  read.then((object) => (object === null ? null : view(object)));

export const unread = 'unread' as const;

/** Cuts longer lists: a person reads no more, and waits for the answer. */
export const MOST_STUCK = 500;
