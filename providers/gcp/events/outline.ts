/**
 * What an excerpt may quote. A log entry says who did what from where, and a fault ends up in logs: so only these values are
 * shown, and of all others, of texts and of whatever is encoded, no more than what kind of value it is.
 */
const QUOTED: ReadonlySet<string> = new Set([
  '@type',
  'id',
  'insertId',
  'instance',
  'instance_id',
  'logName',
  'messageId',
  'methodName',
  'project_id',
  'resourceName',
  'serviceName',
  'severity',
  'specversion',
  'subscription',
  'timestamp',
  'type',
  'zone',
]);

const NEVER = 'authenticationInfo';
const DEEPEST = 4;
const LONGEST = 120;

export const outlineOf = (raw: unknown): string => JSON.stringify(outlined(raw, 0)).slice(0, 300);

const outlined = (raw: unknown, depth: number): unknown => {
  if (typeof raw === 'string') return `text of ${raw.length} characters`;
  if (typeof raw !== 'object' || raw === null) return raw === null ? null : typeof raw;
  if (depth >= DEEPEST) return '…';
  if (Array.isArray(raw)) return raw.slice(0, 3).map((one) => outlined(one, depth + 1));
  const shown = Object.entries(raw).filter(([key]) => key !== NEVER);
  return Object.fromEntries(shown.map(([key, value]) => [key, quoted(key, value) ?? outlined(value, depth + 1)]));
};

const quoted = (key: string, value: unknown): string | null =>
  QUOTED.has(key) && typeof value === 'string' && value.length <= LONGEST ? value : null;
