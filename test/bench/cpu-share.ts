import { existsSync } from 'node:fs';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Gives programs a share of one core, with a control group of Linux. */

export interface CpuShare {
  /** The program, with its arguments, that starts another one with this share. */
  readonly through: readonly string[];
  readonly close: () => Promise<void>;
}

const PERIOD_US = 100_000;

/** The memory (MB) of each function, by default: infra/aws/parameters.yml. */
export const DEFAULT_MEMORY = 256;
/** https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html */
const MEMORY_OF_ONE_CORE = 1_769;
/** The share of a core that Lambda gives to a function with the default memory. */
export const DEFAULT_SHARE = DEFAULT_MEMORY / MEMORY_OF_ONE_CORE;

/** https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/scheduler/sched-bwc.html */
const ROOTS = [
  {
    root: '/sys/fs/cgroup/cpu',
    settings: (quota: number) => ({ 'cpu.cfs_period_us': `${PERIOD_US}`, 'cpu.cfs_quota_us': `${quota}` }),
  },
  { root: '/sys/fs/cgroup', settings: (quota: number) => ({ 'cpu.max': `${quota} ${PERIOD_US}` }) },
];

/** Returns null if this process may not create control groups. */
export const openCpuShare = async (share: number): Promise<CpuShare | null> => {
  const found = ROOTS.find(({ root }) => existsSync(path.join(root, 'cgroup.procs')));
  if (!found) return null;
  const folder = path.join(found.root, `cloudfence-bench-${process.pid}`);
  try {
    await mkdir(folder);
    for (const [file, text] of Object.entries(found.settings(Math.round(share * PERIOD_US))))
      await writeFile(path.join(folder, file), text);
  } catch (error) {
    console.error(`no share of a core can be set here: ${String(error)}`);
    return null;
  }
  return {
    through: ['sh', '-c', `echo $$ > ${folder}/cgroup.procs && exec "$0" "$@"`],
    close: () => rmdir(folder),
  };
};
