import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { stringify } from 'yaml';
import { systemClock } from '../../config/environment.ts';
import type { Clock } from '../../fencing/loop/ports.ts';
import { openKubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import { ADMIN_TOKEN, type ApiServer } from '../../sandbox/cluster/api/server.ts';

/** A sandbox of any cloud behind its HTTP servers, for programs that do not know that it is one. */
export interface LiveCloud<World> {
  readonly world: World;
  readonly scene: { readonly disk: string; readonly holder: string; readonly spare: string };
  readonly node: string;
  readonly folder: string;
  readonly kubeconfig: string;
  /** The whole environment of a child process. It does not mention AWS. */
  readonly environment: Readonly<Record<string, string>>;
  /** The time of the sandbox, for a CLI in this process. */
  readonly clock: Clock;
  readonly close: () => Promise<void>;
}

const TICK_MS = 10;

interface Moving {
  readonly now: () => number;
  readonly advance: (ms: number) => void;
}

export const kubeconfigFor = (server: string, ca: string): string =>
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

const until = (world: Moving, time: number): void => world.advance(Math.max(0, time - world.now()));

export const untilNow = (world: Moving, ago: number): void => until(world, Date.now() - ago);

interface SandboxTime {
  readonly clock: Clock;
  readonly stop: () => void;
}

/**
 * Virtual time follows the real clock, so that Leases and timeouts keep their meaning. A sleep on this clock ends at
 * once, and the world has advanced by that time.
 */
const timeOf = (world: Moving): SandboxTime => {
  let slept = 0;
  const keepUp = (): void => until(world, Date.now() + slept);
  const timer = setInterval(keepUp, TICK_MS);
  const sleep = async (ms: number, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    slept += ms;
    keepUp();
    await nextTurn();
  };
  const clock = systemClock(
    () => Date.now() + slept,
    () => performance.now() + slept,
  );
  return { clock: { ...clock, sleep }, stop: () => clearInterval(timer) };
};

export const openCluster = async (world: Moving, api: ApiServer) => {
  const apiServer = await openKubernetesServer(api);
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-'));
  const kubeconfig = path.join(folder, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigFor(apiServer.url, apiServer.caData));
  const { clock, stop } = timeOf(world);
  const close = async () => {
    stop();
    await Promise.all([apiServer.close(), rm(folder, { recursive: true })]);
  };
  return { folder, kubeconfig, clock, close };
};

export const longAgo = () => ({ seed: 3, now: Date.now() - 600_000 });
