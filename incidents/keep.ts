import { encodePart } from '../fencing/model/foreign-text.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { type Incident, objectNameOf, parseIncident } from './incident.ts';
import { endedWithoutFence, isOnlyPowerOff, joined, lastPowerOff } from './join.ts';
import type { IncidentObject } from './source.ts';
import { changeIncident, type IncidentKeeper, type ObjectStore, POWERED_OFF, storeIncident } from './store.ts';

/**
 * Keeps what a run shows as an incident. A power-off before a fence waits in a note, because the incident is named
 * after the boot that is fenced, and on some clouds a power-off changes the name of the boot.
 */

/** The fence of a machine that was powered off has another boot's name on some clouds, so its note has none. */
const powerOffNote = ({ cluster, machine }: Incident): string =>
  `${POWERED_OFF}${encodePart(cluster ?? '-')}/${encodePart(machine)}`;

const readNote = async (name: string, { read }: ObjectStore, signal: AbortSignal): Promise<Incident | null> => {
  const stored = await read(name, signal);
  return stored && parseIncident(stored.text);
};

/**
 * Stores what a run shows, and announces what is new. The note of a power-off is read only if `policy` allows one, so
 * that other fences do not wait for that read.
 *
 * @throws CloudfenceError
 */
export const keepIncident = async (
  shown: Incident,
  { unreachable }: Pick<Policy, 'unreachable'>,
  keeper: IncidentKeeper,
  signal: AbortSignal,
): Promise<void> => {
  const { objects } = keeper;
  const note = powerOffNote(shown);
  if (isOnlyPowerOff(shown)) return notePowerOff(note, shown, objects, signal);
  const mayFollowPowerOff = shown.fence !== null && unreachable === 'power-off';
  const noted = mayFollowPowerOff ? await readNote(note, objects, signal) : null;
  const before = noted && followsPowerOff(shown, noted) ? noted : null;
  const whole = before ? joined(shown, before) : shown;
  await storeIncident({ name: objectNameOf(shown), change: (stored) => joined(stored, whole) }, keeper, signal);
  if (before) await objects.remove(note, signal);
};

/** What was done before the fence waits in a note for a run of that fence. */
const notePowerOff = async (
  name: string,
  shown: Incident,
  objects: ObjectStore,
  signal: AbortSignal,
): Promise<void> => {
  const change = (before: Incident | null): Incident => joined(before, shown);
  await changeIncident({ name, change, first: async () => undefined }, objects, signal);
};

/**
 * Returns whether the fence began after the power-off. The run that began the fence may have died before it took the
 * note, so any later run of that fence takes it.
 */
const followsPowerOff = ({ begun }: Incident, noted: Incident): boolean =>
  begun !== null && lastPowerOff(noted) <= begun;

/** The longest time (ms) from a power-off to its fence. After that, a person should look. */
const FENCE_FOLLOWS_MS = 900_000;

/**
 * Keeps what a power-off left in a note as an incident of its own, if no fence has followed.
 *
 * @throws CloudfenceError
 */
export const storePowerOffWithoutFence = async (
  { name }: IncidentObject,
  now: number,
  keeper: IncidentKeeper,
  signal: AbortSignal,
): Promise<void> => {
  const noted = await readNote(name, keeper.objects, signal);
  if (noted) {
    if (now - Date.parse(lastPowerOff(noted)) < FENCE_FOLLOWS_MS) return;
    const over = endedWithoutFence(noted, now);
    await storeIncident({ name: objectNameOf(over), change: (before) => joined(before, over) }, keeper, signal);
  }
  await keeper.objects.remove(name, signal);
};
