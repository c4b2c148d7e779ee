import type { PodLife } from './pod-history.ts';
import { openInformer } from '../../testbed/informer.ts';
import { pod as podSchema } from '../../testbed/objects.ts';
import type { Scene } from './scene.ts';

/** The history of every pod of a scene since it was opened. */
export interface PodLives {
  /** All pods whose names start with this text, in order. */
  readonly of: (prefix: string) => readonly PodLife[];
  readonly close: () => void;
}

export const watchLives = async ({ testbed, namespace }: Scene): Promise<PodLives> => {
  const closing = new AbortController();
  const names = new Map<string, string>();
  const changed = ({ metadata }: { readonly metadata: { readonly uid: string; readonly name: string } }): void =>
    void names.set(metadata.uid, metadata.name);
  const informer = openInformer(
    testbed.admin,
    `/api/v1/namespaces/${namespace}/pods`,
    podSchema,
    { changed },
    closing.signal,
  );
  await informer.synced;
  const lives = (uid: string): boolean =>
    informer.all().some(({ metadata }) => metadata.uid === uid && metadata.deletionTimestamp == null);
  return {
    of: (prefix) =>
      [...names].filter(([, name]) => name.startsWith(prefix)).map(([uid]) => ({ uid, deleted: !lives(uid) })),
    close: () => closing.abort(),
  };
};
