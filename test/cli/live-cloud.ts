import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import { openHttpsDoor } from '../../sandbox/cluster/api/https-door.ts';
import { ADMIN_TOKEN, type ApiServer } from '../../sandbox/cluster/api/server.ts';

/** A sandbox of any cloud, in real time behind its HTTP doors, for programs that know nothing of it. */
export interface LiveCloud<World> {
  readonly world: World;
  readonly scene: { readonly disk: string; readonly holder: string; readonly spare: string };
  readonly node: string;
  readonly folder: string;
  readonly kubeconfig: string;
  /** All that a child process is told; nothing of it speaks of AWS. */
  readonly environment: Readonly<Record<string, string>>;
  readonly close: () => Promise<void>;
}

const TICK_MS = 10;

interface Moving {
  readonly now: () => number;
  readonly advance: (ms: number) => void;
}

const kubeconfigFor = (server: string, ca: string): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'sandbox',
    clusters: [
      { name: 'sandbox', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
    ],
    users: [{ name: 'admin', user: { token: ADMIN_TOKEN } }],
    contexts: [{ name: 'sandbox', context: { cluster: 'sandbox', user: 'admin' } }],
  });

export const untilNow = (world: Moving, ago: number): void =>
  world.advance(Math.max(0, Date.now() - ago - world.now()));

/** Virtual time keeps step with the wall clock, so that Leases and time-outs mean what they say. */
export const openCluster = async (world: Moving, api: ApiServer) => {
  const door = await openHttpsDoor(api);
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-'));
  const kubeconfig = path.join(folder, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigFor(door.url, door.caData));
  const timer = setInterval(() => untilNow(world, 0), TICK_MS);
  const close = async () => {
    clearInterval(timer);
    await Promise.all([door.close(), rm(folder, { recursive: true })]);
  };
  return { folder, kubeconfig, close };
};

export const longAgo = () => ({ seed: 3, now: Date.now() - 600_000 });
