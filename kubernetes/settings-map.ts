import { CoreV1Api, type V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import type { Surroundings } from '../fencing/model/cluster-facts.ts';
import { timing } from '../fencing/model/policy.ts';
import { pages, type Reader, type Writer } from './connection.ts';
import { isNotFound } from './errors.ts';
import { CAP_OVERRIDE, PAUSE_KEY, SETTINGS } from './names.ts';

/** The ConfigMap with which people pause all fencing, or allow fences to exceed the cap. */

/** The ConfigMap with which people control Cloudfence in a cluster. Cloudfence only reads it. */
export type SettingsMap = Readonly<Record<string, string>>;

/** A person's decision that fences may exceed the cap until a time (epoch ms), and why. */
export interface CapOverride {
  readonly until: number;
  readonly reason: string;
}

export const readSettings = async (reader: Reader): Promise<SettingsMap> => {
  const map = await reader.readIfPresent(CoreV1Api, SETTINGS, (core, key) => core.readNamespacedConfigMap(key));
  return map?.data ?? {};
};

const pauseIn = (settings: SettingsMap): string | null => {
  const reason = settings[PAUSE_KEY]?.trim() ?? '';
  return reason === '' || reason === 'false' ? null : reason;
};

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

/** Returns the override that is in effect now, or null. An unreadable value does not override anything. */
export const activeCapOverride = (settings: SettingsMap, now: number): CapOverride | null => {
  const text = settings[CAP_OVERRIDE.until]?.trim() ?? '';
  const until = RFC_3339.test(text) ? Date.parse(text) : NaN;
  const counts = until > now && until <= now + timing.longestCapOverride;
  return counts ? { until, reason: settings[CAP_OVERRIDE.reason]?.trim() || 'no reason given' } : null;
};

/**
 * Sets keys, and removes keys with a null value. Creates the ConfigMap if it does not exist yet. Only people may do
 * this.
 */
const writeSettings = async (writer: Writer, data: Readonly<Record<string, string | null>>): Promise<void> => {
  const { namespace, name } = SETTINGS;
  try {
    await writer.mergePatch(CoreV1Api, (core) => core.patchNamespacedConfigMap({ namespace, name, body: { data } }));
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const set = Object.fromEntries(
      Object.entries(data).filter((entry): entry is [string, string] => entry[1] !== null),
    );
    if (Object.keys(set).length > 0)
      await writer.write(CoreV1Api, (core) =>
        core.createNamespacedConfigMap({ namespace, body: { metadata: { namespace, name }, data: set } }),
      );
  }
};

const inSeconds = (until: number): string => new Date(until).toISOString().replace(/\.\d+Z$/, 'Z');

export const overrideCap = (writer: Writer, { until, reason }: CapOverride): Promise<void> =>
  writeSettings(writer, { [CAP_OVERRIDE.until]: inSeconds(until), [CAP_OVERRIDE.reason]: reason });

export const endCapOverride = (writer: Writer): Promise<void> =>
  writeSettings(writer, { [CAP_OVERRIDE.until]: null, [CAP_OVERRIDE.reason]: null });

/** A list of metadata. Its items are null if the list is empty, despite the client's types. */
interface CountedList {
  readonly items: readonly V1Node[] | null;
  readonly metadata?: { readonly remainingItemCount?: number; readonly _continue?: string };
}

const countOneByOne = async (reader: Reader): Promise<number> => {
  let count = 0;
  for await (const page of pages((paging) => reader.readMetadata(CoreV1Api, (core) => core.listNode(paging))))
    count += page.length;
  return count;
};

/**
 * Counts the Nodes with one call: one item's metadata, and the server's own count of the others. The cost does not
 * depend on the size of the cluster. A server may leave out its count, and is then asked for all Nodes.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/list-meta/
 */
export const countNodes = async (reader: Reader): Promise<number> => {
  const { items, metadata = {} }: CountedList = await reader.readMetadata(CoreV1Api, (core) =>
    core.listNode({ limit: 1 }),
  );
  const { remainingItemCount: others, _continue: next } = metadata;
  return others === undefined && next ? countOneByOne(reader) : (items?.length ?? 0) + (others ?? 0);
};

/** Returns the settings of the cluster that decisions need. */
export const surroundingsIn = (settings: SettingsMap): Surroundings => ({ paused: pauseIn(settings) });
