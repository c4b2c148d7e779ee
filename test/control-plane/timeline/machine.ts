import { readFile } from 'node:fs/promises';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { Api } from '../../testbed/api.ts';
import { modulePath } from '../../testbed/toolchain.ts';

/** Where and with what it was measured. */
export interface Machine {
  readonly cores: number;
  readonly processor: string;
  readonly memoryGb: number;
  /** Of the last minute, before and after: more than the number of cores tells of others at work. */
  readonly load: { readonly before: number; readonly after: number };
  readonly versions: Readonly<Record<'Kubernetes' | 'etcd' | 'external-attacher' | 'Node.js', string>>;
}

const version = z.looseObject({ gitVersion: z.string() });

const versionIn = (goMod: string, module: string): string => {
  const line = goMod.split('\n').find((text) => text.trim().startsWith(`${module} `));
  return line?.trim().split(' ')[1] ?? 'unknown';
};

export const loadNow = (): number => loadavg()[0] ?? 0;

/** As the running server and the module that the rest is built from have it. */
export const versionsOf = async (admin: Api): Promise<Machine['versions']> => {
  const goMod = await readFile(join(modulePath, 'go.mod'), 'utf8');
  return {
    Kubernetes: version.parse(await admin.get('/version')).gitVersion,
    etcd: versionIn(goMod, 'go.etcd.io/etcd/server/v3'),
    'external-attacher': versionIn(goMod, 'github.com/kubernetes-csi/external-attacher/v4'),
    'Node.js': process.version,
  };
};

export const machineNow = (before: number, versions: Machine['versions']): Machine => ({
  cores: cpus().length,
  processor: cpus()[0]?.model.trim() ?? 'unknown',
  memoryGb: Math.round(totalmem() / 2 ** 30),
  load: { before, after: loadNow() },
  versions,
});
