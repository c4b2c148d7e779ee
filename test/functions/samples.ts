import { readdirSync, readFileSync } from 'node:fs';
import type { ParsedEvent } from '../../fencing/model/cloud.ts';

const folder = new URL('../fixtures/', import.meta.url);

/** The names of those published and derived samples of a cloud that are events. */
export const samplesOf = (cloud: string): readonly string[] =>
  readdirSync(new URL(`${cloud}/`, folder)).filter((name) => name.endsWith('.json') && !name.includes('.response.'));

export const sample = (cloud: string, name: string): string =>
  readFileSync(new URL(`${cloud}/${name}`, folder), 'utf8');

const literal = (text: string): RegExp => new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`), 'gi');

/** Whether the sample names a machine in plain text. Others are in base64, or name nothing here. */
export const namesMachine = (text: string, read: (text: string) => ParsedEvent): boolean =>
  read(text).hints.some(({ machine }) => literal(machine).test(text));

/** The sample, changed so that it concerns that machine. */
export const about = (
  text: string,
  machine: string,
  read: (text: string) => ParsedEvent,
  place: { readonly account: string; readonly region: string | null },
): string => {
  const [hint] = read(text).hints;
  if (!hint) return text;
  const moved = text.replace(literal(hint.machine), machine);
  const inAccount = hint.account === null ? moved : moved.replaceAll(`"${hint.account}"`, `"${place.account}"`);
  return hint.region === null || place.region === null
    ? inAccount
    : inAccount.replaceAll(`"${hint.region}"`, `"${place.region}"`);
};

export const isMarked = ({ lines }: { readonly lines: readonly Record<string, unknown>[] }, machine: string): boolean =>
  lines.some(({ decision, step, instance }) => decision === 'step' && step === 'mark' && instance === machine);
