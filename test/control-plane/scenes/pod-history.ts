import { setTimeout as delay } from 'node:timers/promises';
import { pod as podSchema, watchEvent } from '../../testbed/objects.ts';
import type { Scene } from './scene.ts';

/** The history of one of the pods that had a name. */
export interface PodLife {
  readonly uid: string;
  /** Someone requested its deletion, or it is gone. */
  readonly deleted: boolean;
}

export interface PodHistory {
  /** All pods of that name in order, from the beginning until this many seconds from now. */
  readonly forAnother: (seconds: number) => Promise<readonly PodLife[]>;
}

/** Records all that the API server reports about pods of that name. */
export const openPodHistory = ({ testbed, namespace }: Scene, name: string): PodHistory => {
  const lives = new Map<string, boolean>();
  const enough = new AbortController();
  const listen = async (): Promise<void> => {
    for await (const line of testbed.admin.watch(
      `/api/v1/namespaces/${namespace}/pods?watch=1&fieldSelector=metadata.name=${name}`,
      enough.signal,
    )) {
      const { type, object } = watchEvent.parse(line);
      const { metadata } = podSchema.parse(object);
      lives.set(metadata.uid, type === 'DELETED' || metadata.deletionTimestamp != null);
    }
  };
  const listening = listen().then(
    () => new Error('the watch has ended'),
    (cause: unknown) => new Error('the watch broke off', { cause }),
  );
  return {
    forAnother: async (seconds) => {
      const brokenOff = await Promise.race([listening, delay(seconds * 1000, null)]);
      if (brokenOff !== null) throw brokenOff;
      enough.abort();
      await listening;
      return [...lives].map(([uid, deleted]) => ({ uid, deleted }));
    },
  };
};
