import { readFile } from 'node:fs/promises';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { Api } from '../../testbed/api.ts';
import { modulePath } from '../../testbed/toolchain.ts';

/** Where and with what the measurement was made. */
export interface Machine {
  readonly cores: number;
  readonly processor: string;
  readonly memoryGb: number;
  /** The load of the last minute, before and after. A load above the number of cores shows that other programs ran. */
  readonly load: { readonly before: number; readonly after: number };
  readonly versions: Readonly<Record<'Kubernetes' | 'etcd' | 'external-attacher' | 'Node.js', string>>;
}

const version = z.looseObject({ gitVersion: z.string() });

const versionIn = (goMod: string, module: string): string => {
  const line = goMod.split('\n').find((text) => text.trim().startsWith(`${module} `));
  return line?.trim().split(' ')[1] ?? 'unknown';
};

export const loadNow = (): number => loadavg()[0] ?? 0;

/** From the running server, and from the module from which the rest is built. */
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
