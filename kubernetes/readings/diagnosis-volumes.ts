import { CoreV1Api, StorageV1Api, type V1PersistentVolumeClaim } from '@kubernetes/client-node/dist/gen/index.js';
import type { ObjectName, VolumeView } from '../../diagnosis/model/facts.ts';
import type { DiagnosisReading } from '../../diagnosis/ports.ts';
import { pages, type Reader } from '../connection.ts';
import { pvcView, volumeView } from './diagnosis-views.ts';
import { readPvc, readVolume } from '../volumes.ts';
import { PermissionDenied } from '../../fencing/model/errors.ts';

/**
 * The reads of claims, PersistentVolumes, and drivers for a diagnosis, and the cache of all its reads. Each object is
 * read only once, and missing permissions are noted.
 */

type Paging = { readonly limit: number; readonly _continue?: string };

const keyOf = (of: ObjectName | string): string => (typeof of === 'string' ? of : `${of.namespace}/${of.name}`);

/** Caches each read, and notes missing permissions. */
export const createReadCache = () => {
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

export type ReadCache = ReturnType<typeof createReadCache>;

export const viewIfFound = <T, V>(read: Promise<T | null>, view: (object: T) => V): Promise<V | null> =>
  read.then((object) => (object === null ? null : view(object)));

export const unread = 'unread' as const;

/** Longer lists are cut, because a person does not read more and waits for the answer. */
export const MOST_STUCK = 500;

const volumePages = (reader: Reader) =>
  pages((paging: Paging) => reader.read(CoreV1Api, (core) => core.listPersistentVolume(paging)));

const pvcPages = (reader: Reader) =>
  pages((paging: Paging) => reader.read(CoreV1Api, (core) => core.listPersistentVolumeClaimForAllNamespaces(paging)));

const isStuck = ({ metadata, status }: V1PersistentVolumeClaim): boolean =>
  status?.phase !== 'Bound' || metadata?.deletionTimestamp !== undefined;

export const claimReads = (
  reader: Reader,
  { once, single }: ReadCache,
  events: DiagnosisReading['events'],
): Pick<DiagnosisReading, 'claim' | 'stuckClaims'> => {
  const viewWithEvents = async (found: V1PersistentVolumeClaim) => {
    const { namespace = '', uid = '' } = found.metadata ?? {};
    return pvcView(found, found.status?.phase === 'Bound' ? [] : await events(namespace, uid));
  };
  const claim = async (name: ObjectName) => {
    const found = await readPvc(reader, name);
    return found && viewWithEvents(found);
  };
  const stuckClaims = single(async () => {
    const stuck: V1PersistentVolumeClaim[] = [];
    for await (const page of pvcPages(reader)) stuck.push(...page.filter(isStuck));
    return Promise.all(stuck.slice(0, MOST_STUCK).map(viewWithEvents));
  }, []);
  return { claim: once(claim, unread), stuckClaims };
};

export const volumeReads = (
  reader: Reader,
  { once, single }: ReadCache,
): Pick<DiagnosisReading, 'volume' | 'volumesOn' | 'volumesGoing' | 'driver'> => {
  const allVolumes = single(async () => {
    const found: VolumeView[] = [];
    for await (const page of volumePages(reader)) found.push(...page.map(volumeView));
    return found;
  }, unread);
  return {
    volume: once((name: string) => viewIfFound(readVolume(reader, name), volumeView), unread),
    volumesOn: async (isWanted) => {
      const all = await allVolumes();
      return all === unread ? unread : all.filter(({ handle }) => handle !== null && isWanted(handle));
    },
    volumesGoing: async () => {
      const all = await allVolumes();
      return all === unread ? [] : all.filter(({ deleting }) => deleting);
    },
    driver: once(
      (name: string) =>
        viewIfFound(
          reader.readIfPresent(StorageV1Api, { name }, (api, key) => api.readCSIDriver(key)),
          ({ spec }) => ({ name, attachRequired: spec.attachRequired ?? true }),
        ),
      unread,
    ),
  };
};
