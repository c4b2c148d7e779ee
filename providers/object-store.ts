import type { ObjectStore } from '../incidents/keep.ts';
import { Unavailable } from '../fencing/model/errors.ts';
import { goodAnswer, type HttpCall, type SendCall } from './http-answer.ts';

/**
 * Objects in a bucket over HTTP. All clouds can write only over a version that was read before. They differ in the
 * names of headers and in the statuses of a conflict.
 */
export interface ObjectDialect {
  /** URL of the bucket or container, without a slash at its end. */
  readonly bucket: string;
  /** The names of the calls in messages: their permissions. */
  readonly calls: { readonly read: string; readonly write: string; readonly remove: string };
  /** The header of a response that names the object's version. */
  readonly version: string;
  /** Headers of each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Headers of each write. */
  readonly writing: Readonly<Record<string, string>>;
  /** Returns the headers that let a write pass only over this version, or only if there is none. */
  readonly onlyOver: (version: string | null) => Readonly<Record<string, string>>;
}

/**
 * Statuses of a write whose condition does not hold: another version, an object that is there by now, one that is
 * gone, or another write at the same moment.
 */
const CONFLICTS: ReadonlySet<number> = new Set([404, 409, 412]);

const urlOf = ({ bucket }: ObjectDialect, name: string): string =>
  `${bucket}/${name.split('/').map(encodeURIComponent).join('/')}`;

const createRemoval =
  (send: SendCall, dialect: ObjectDialect): ObjectStore['remove'] =>
  async (name, signal) => {
    const call: HttpCall = {
      method: 'DELETE',
      url: urlOf(dialect, name),
      name: dialect.calls.remove,
      headers: dialect.headers,
    };
    const answer = await send(call, signal);
    if (answer.status !== 404) goodAnswer(answer, call);
  };

export const createObjectStore = (send: SendCall, dialect: ObjectDialect): Omit<ObjectStore, 'list'> => ({
  read: async (name, signal) => {
    const call: HttpCall = {
      method: 'GET',
      url: urlOf(dialect, name),
      name: dialect.calls.read,
      headers: dialect.headers,
    };
    const answer = await send(call, signal);
    if (answer.status === 404) return null;
    const { text, header } = goodAnswer(answer, call);
    const version = header(dialect.version);
    if (version === null) throw new Unavailable(`${call.name} returned an object without ${dialect.version}`);
    return { text, version };
  },
  write: async (name, text, over, signal) => {
    const call: HttpCall = {
      method: 'PUT',
      url: urlOf(dialect, name),
      name: dialect.calls.write,
      headers: {
        'content-type': 'application/json',
        ...dialect.headers,
        ...dialect.writing,
        ...dialect.onlyOver(over),
      },
      body: text,
    };
    const answer = await send(call, signal);
    // A bucket that does not exist is a 404 as well, but a new object is never written over one that is gone.
    if (CONFLICTS.has(answer.status) && !(answer.status === 404 && over === null)) return false;
    goodAnswer(answer, call);
    return true;
  },
  remove: createRemoval(send, dialect),
});

/** Returns the conditions of HTTP itself: https://www.rfc-editor.org/rfc/rfc9110#section-13.1 */
export const matchHeaders: ObjectDialect['onlyOver'] = (version) =>
  version === null ? { 'if-none-match': '*' } : { 'if-match': version };
