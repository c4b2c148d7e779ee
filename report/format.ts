/** Times and durations as people read them. All times are UTC. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const two = (count: number): string => String(count).padStart(2, '0');

const inParts = (ms: number, large: number, small: number, [one, other]: readonly [string, string]): string => {
  const rounded = Math.round(ms / small) * small;
  return `${Math.floor(rounded / large)} ${one} ${two(Math.round((rounded % large) / small))} ${other}`;
};

/** Returns a duration (ms) with the digits that matter, such as `0.13 s`, `25.5 s`, or `5 min 56 s`. */
export const duration = (ms: number): string => {
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms === 0) return '0 s';
  if (ms < 9_995) return `${(ms / SECOND).toFixed(2)} s`;
  if (ms < 59_950) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < HOUR - SECOND / 2) return inParts(ms, MINUTE, SECOND, ['min', 's']);
  if (ms < DAY - MINUTE / 2) return inParts(ms, HOUR, MINUTE, ['h', 'min']);
  return inParts(ms, DAY, HOUR, ['d', 'h']);
};

/** Returns a mark of an axis, such as `0`, `0.5 s`, `2 min`, or `3 h`. */
export const tickText = (ms: number): string => {
  if (ms === 0) return '0';
  if (ms < MINUTE) return `${Number((ms / SECOND).toFixed(2))} s`;
  if (ms < HOUR) return `${Number((ms / MINUTE).toFixed(2))} min`;
  return ms < DAY ? `${Number((ms / HOUR).toFixed(2))} h` : `${Number((ms / DAY).toFixed(2))} d`;
};

const isoOf = (ms: number): string => new Date(ms).toISOString();

/** Such as `2026-01-01 00:00:35.780`. */
export const dateTime = (ms: number): string => isoOf(ms).replace('T', ' ').replace('Z', '');

/** Such as `2026-01-01 00:00`. */
export const dateMinute = (ms: number): string => dateTime(ms).slice(0, 16);

/** Such as `00:00:35.780`. */
export const clockTime = (ms: number): string => isoOf(ms).slice(11, 23);

export const machineTime = (ms: number): string => isoOf(ms);

const STEPS = [1, 2, 5, 10, 15, 20, 30].map((count) => count * SECOND);
const LARGE = [1, 2, 5, 10, 15, 20, 30].map((count) => count * MINUTE);
const HUGE = [1, 2, 3, 6, 12].map((count) => count * HOUR);

/** Returns marks for an axis of that length: round numbers, and at most `most` of them. */
export const ticks = (span: number, most: number): readonly number[] => {
  const fine = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].map((count) => count * SECOND);
  const step = [...fine, ...STEPS, ...LARGE, ...HUGE].find((one) => span / one <= most);
  const apart = step ?? Math.ceil(span / most / DAY) * DAY;
  return Array.from({ length: Math.floor(span / apart) + 1 }, (_, index) => index * apart);
};
