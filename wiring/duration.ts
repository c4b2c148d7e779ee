import { z } from 'zod';

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
const written = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/;

/** A time as people write it, such as `90s` or `10m`, in ms; null when it is none. */
export const parseDuration = (text: string): number | null => {
  const [, amount, unit] = written.exec(text.trim()) ?? [];
  if (amount === undefined || unit === undefined) return null;
  const entry = Object.entries(units).find(([name]) => name === unit);
  return entry ? Number(amount) * entry[1] : null;
};

export const duration = z.string().transform((text, context) => {
  const ms = parseDuration(text);
  if (ms !== null) return ms;
  context.addIssue({ code: 'custom', message: `"${text}" is no time: write a number and ms, s, m or h, such as 90s` });
  return z.NEVER;
});
