import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** Names and values as they were written, before anybody has looked at them. */
export type Written = Readonly<Record<string, unknown>>;

const file = z.record(z.string(), z.unknown()).nullable();
const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** What a YAML file says; nothing when there is no such file. */
export const fromFile = (serviceDir: string, name: string): Written => {
  try {
    return file.parse(parse(readFileSync(path.join(serviceDir, name), 'utf8'))) ?? {};
  } catch (error) {
    if (isMissing(error)) return {};
    throw error;
  }
};

/** `--param='name=value'`: the value as YAML, so numbers, switches and JSON are what they look like. */
export const fromCommandLine = (params: readonly string[]): Written =>
  Object.fromEntries(
    params.map((param): [string, unknown] => {
      const at = param.indexOf('=');
      return [param.slice(0, at), parse(param.slice(at + 1))];
    }),
  );
