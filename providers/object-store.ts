import { z } from 'zod';
import { nonEmptyText, encodePart } from '../fencing/model/foreign-text.ts';
import type { ObjectStore } from '../incidents/store.ts';
import { Unavailable } from '../fencing/model/errors.ts';
import { requireSuccess, type HttpCall, type SendCall } from '../transport/answers.ts';
import type { IncidentObject } from '../incidents/source.ts';

/**
 * The differences between the clouds' object stores. All clouds support conditional writes, which succeed only if the
 * object still has the version that was read. They differ in the names of headers and in the statuses for a conflict.
 */
export interface ObjectDialect {
  /** URL of the bucket or container, without a slash at its end. */
  readonly bucket: string;
  /** The names of the calls in messages, which are their permissions. */
  readonly calls: { readonly read: string; readonly write: string; readonly remove: string };
  /** The header of a response that names the object's version. */
  readonly version: string;
  /** Headers of each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Headers of each write. */
  readonly writing: Readonly<Record<string, string>>;
  /** Returns the headers with which a write succeeds only over this version, or only if the object does not exist. */
  readonly onlyOver: (version: string | null) => Readonly<Record<string, string>>;
}

/**
 * Statuses of a write whose condition is not met: the object has another version, exists by now, is gone, or is being
 * written at the same moment.
 */
const CONFLICTS: ReadonlySet<number> = new Set([404, 409, 412]);

const urlOf = ({ bucket }: ObjectDialect, name: string): string =>
  `${bucket}/${name.split('/').map(encodePart).join('/')}`;

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
    if (answer.status !== 404) requireSuccess(answer, call);
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
    const { text, header } = requireSuccess(answer, call);
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
    // A missing bucket is also a 404, but a new object is never written on condition of an older version.
    if (CONFLICTS.has(answer.status) && !(answer.status === 404 && over === null)) return false;
    requireSuccess(answer, call);
    return true;
  },
  remove: createRemoval(send, dialect),
});

/** Returns the conditions of HTTP itself: https://www.rfc-editor.org/rfc/rfc9110#section-13.1 */
export const matchHeaders: ObjectDialect['onlyOver'] = (version) =>
  version === null ? { 'if-none-match': '*' } : { 'if-match': version };

/** The differences between the clouds' lists of objects. All clouds answer with XML. */
export interface ListDialect {
  /** URL of the bucket or container, without a slash at its end. */
  readonly bucket: string;
  /** The name of the call in messages, which is its permission. */
  readonly call: string;
  /** Headers of each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Returns the query of a page. `token` comes from the previous page, and is null for the first page. */
  readonly query: (prefix: string, token: string | null) => Readonly<Record<string, string>>;
  /** Reads a parsed page. */
  readonly page: z.ZodType<ListPage>;
}

export interface ListPage {
  readonly objects: readonly IncidentObject[];
  /** The token of the next page. Null for the last page. */
  readonly next: string | null;
}

/** Returns an object of a page. Its time may have any form that `Date` reads. */
export const listedObject = (name: string, time: string): IncidentObject => {
  const ms = Date.parse(time);
  return { name, written: Number.isNaN(ms) ? null : ms };
};

const s3Page = z
  .object({
    Contents: z.array(z.object({ Key: z.string(), LastModified: z.string() })).default([]),
    IsTruncated: z.enum(['true', 'false']),
    NextContinuationToken: nonEmptyText.optional(),
  })
  .refine(({ IsTruncated: cut, NextContinuationToken: token }) => cut === 'false' || token !== undefined)
  .transform(({ Contents, IsTruncated: cut, NextContinuationToken: token = null }) => ({
    objects: Contents.map(({ Key, LastModified }) => listedObject(Key, LastModified)),
    next: cut === 'true' ? token : null,
  }));

/**
 * Version 2 of the list of S3, which Cloud Storage answers as well:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
 */
export const s3List: Pick<ListDialect, 'query' | 'page'> = {
  query: (prefix, token) => ({ 'list-type': '2', prefix, ...(token !== null && { 'continuation-token': token }) }),
  page: z.object({ ListBucketResult: s3Page }).transform(({ ListBucketResult: page }) => page),
};

const LISTS: ReadonlySet<string> = new Set(['Contents', 'Blob']);

/** The XML parser is loaded with the first list. A function that only writes does not load it. */
const parseXml = async (text: string): Promise<unknown> => {
  const { XMLParser } = await import('fast-xml-parser');
  return new XMLParser({ parseTagValue: false, htmlEntities: true, isArray: (name) => LISTS.has(name) }).parse(text);
};

const readPage = async (text: string, { call, page }: ListDialect): Promise<ListPage> => {
  try {
    return page.parse(await parseXml(text));
  } catch (cause) {
    throw new Unavailable(`the response to ${call} is no list of objects`, { cause });
  }
};

/** Returns a function that lists all objects whose names begin with a prefix. It throws `CloudfenceError`s. */
export const createObjectList =
  (send: SendCall, dialect: ListDialect): ObjectStore['list'] =>
  async (prefix, signal) => {
    const { bucket, call: name, headers, query } = dialect;
    const objects: IncidentObject[] = [];
    let token: string | null = null;
    do {
      const url = `${bucket}?${new URLSearchParams(query(prefix, token)).toString()}`;
      const call: HttpCall = { method: 'GET', url, name, headers };
      const page: ListPage = await readPage(requireSuccess(await send(call, signal), call).text, dialect);
      if (page.next === token && token !== null) throw new Unavailable(`${name} returns the same page again and again`);
      objects.push(...page.objects);
      token = page.next;
    } while (token !== null);
    return objects;
  };
