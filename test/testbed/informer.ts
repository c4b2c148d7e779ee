import type { z } from 'zod';
import type { Api } from './api.ts';
import { listOf, watchEvent } from './objects.ts';

/** All objects of one kind in their current state, without a request each time. */
export interface Informer<T> {
  readonly all: () => readonly T[];
  readonly get: (name: string) => T | undefined;
  readonly synced: Promise<void>;
}

interface Known {
  readonly metadata: { readonly name: string; readonly namespace: string };
}

interface Listener<T> {
  readonly changed: (object: T) => void;
}

const keyOf = ({ metadata }: Known): string =>
  metadata.namespace === '' ? metadata.name : `${metadata.namespace}/${metadata.name}`;

/** Lists, watches from there, and lists again when the watch ends, until `signal` aborts. */
export const openInformer = <T extends Known>(
  api: Api,
  path: string,
  schema: z.ZodType<T>,
  { changed }: Listener<T>,
  signal: AbortSignal,
): Informer<T> => {
  const known = new Map<string, T>();
  const put = (object: T): void => {
    known.set(keyOf(object), object);
    changed(object);
  };
  const relist = async (): Promise<string> => {
    const { items, metadata } = listOf(schema).parse(await api.get(path));
    const listed = new Set(items.map(keyOf));
    for (const [key, object] of known) {
      if (listed.has(key)) continue;
      known.delete(key);
      changed(object);
    }
    for (const item of items) put(item);
    return metadata.resourceVersion;
  };
  const heed = (line: unknown): void => {
    const { type, object } = watchEvent.parse(line);
    if (type === 'ERROR') throw new Error(`the watch of ${path} broke off`);
    if (type === 'BOOKMARK') return;
    const read = schema.parse(object);
    if (type !== 'DELETED') return put(read);
    known.delete(keyOf(read));
    changed(read);
  };
  let tellSynced = (): void => undefined;
  const synced = new Promise<void>((resolve) => (tellSynced = resolve));
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      const from = await relist();
      tellSynced();
      for await (const line of api.watch(`${path}?watch=1&resourceVersion=${from}`, signal)) heed(line);
    }
  };
  const keepOn = async (): Promise<void> => {
    while (!signal.aborted) await follow().catch(() => new Promise((resolve) => setTimeout(resolve, 100)));
  };
  void keepOn();
  return { all: () => [...known.values()], get: (key) => known.get(key), synced };
};
