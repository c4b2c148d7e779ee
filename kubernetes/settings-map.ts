import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import { patience } from '../fencing/policy.ts';
import type { Reader, Writer } from './connection.ts';
import { saysAbsent } from './errors.ts';
import { CAP_LIFT, PAUSE_KEY, SETTINGS } from './names.ts';

/** The ConfigMap in which the people who run a cluster switch Cloudfence: it only reads it. */
export type SettingsMap = Readonly<Record<string, string>>;

/** Somebody may fence past the cap until then (epoch ms), and why. */
export interface CapLift {
  readonly until: number;
  readonly reason: string;
}

export const readSettings = async (reader: Reader): Promise<SettingsMap> => {
  const { namespace, name } = SETTINGS;
  const map = await reader.readIfPresent(CoreV1Api, (core) => core.readNamespacedConfigMap({ namespace, name }));
  return map?.data ?? {};
};

export const pauseIn = (settings: SettingsMap): string | null => {
  const reason = settings[PAUSE_KEY]?.trim() ?? '';
  return reason === '' || reason === 'false' ? null : reason;
};

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

/** The lift that counts now, or null: what cannot be read lifts nothing. */
export const capLiftIn = (settings: SettingsMap, now: number): CapLift | null => {
  const text = settings[CAP_LIFT.until]?.trim() ?? '';
  const until = RFC_3339.test(text) ? Date.parse(text) : NaN;
  const counts = until > now && until <= now + patience.longestLift;
  return counts ? { until, reason: settings[CAP_LIFT.reason]?.trim() || 'no reason given' } : null;
};

/** Sets keys, or takes them away with null; only people may. A map that is not there yet is made. */
const writeSettings = async (writer: Writer, data: Readonly<Record<string, string | null>>): Promise<void> => {
  const { namespace, name } = SETTINGS;
  try {
    await writer.mergePatch(CoreV1Api, (core) => core.patchNamespacedConfigMap({ namespace, name, body: { data } }));
  } catch (error) {
    if (!saysAbsent(error)) throw error;
    const set = Object.fromEntries(Object.entries(data).filter((entry): entry is [string, string] => entry[1] !== null));
    if (Object.keys(set).length > 0) await writer.write(CoreV1Api, (core) => core.createNamespacedConfigMap({ namespace, body: { metadata: { namespace, name }, data: set } }));
  }
};

const inSeconds = (until: number): string => new Date(until).toISOString().replace(/\.\d+Z$/, 'Z');

export const liftCap = (writer: Writer, { until, reason }: CapLift): Promise<void> => writeSettings(writer, { [CAP_LIFT.until]: inSeconds(until), [CAP_LIFT.reason]: reason });

export const endLift = (writer: Writer): Promise<void> => writeSettings(writer, { [CAP_LIFT.until]: null, [CAP_LIFT.reason]: null });
