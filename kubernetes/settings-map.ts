import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { Reader } from './connection.ts';
import { CAP_LIFT, PAUSE_KEY, SETTINGS } from './names.ts';

/** The ConfigMap in which the people who run a cluster switch Cloudfence: it only reads it. */
export type SettingsMap = Readonly<Record<string, string>>;

/** Somebody may fence past the cap until then (epoch ms), and why. */
export interface CapLift {
  readonly until: number;
  readonly reason: string;
}

/** A lift is for an incident. One that ends later than this is a slip, or was meant to be forgotten: it does not count. */
export const LONGEST_LIFT_MS = 24 * 3_600_000;

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
  const counts = until > now && until <= now + LONGEST_LIFT_MS;
  return counts ? { until, reason: settings[CAP_LIFT.reason]?.trim() || 'no reason given' } : null;
};
