import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openKubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import { nameOf } from '../bench/tally.ts';
import { kubeconfigFor, untilNow } from '../cli/live-cloud.ts';
import { openStandIn } from '../providers/stand-in.ts';
import { openDelayProxy, type Distance } from './delay-proxy.ts';
import { fullNode, UNTIL_OFF_MS, type FullNode, type Load } from './scene.ts';

/** A full Node whose machine has just stopped, in real time, behind proxies with a delay. */
export interface LiveNetwork {
  readonly scene: FullNode;
  readonly server: { readonly url: string; readonly ca: string };
  readonly environment: Readonly<Record<string, string>>;
  readonly kubeconfig: string;
  readonly seen: () => Seen;
  readonly close: () => Promise<void>;
}

/** Moments of performance.now(), or null if it has not happened yet. */
export interface Seen {
  readonly off: number | null;
  readonly firstDeleted: number | null;
  readonly lastDeleted: number | null;
  readonly elsewhere: number | null;
  readonly cluster: number;
  readonly cloud: number;
  readonly bytes: number;
}

export interface Network {
  readonly cluster: Distance;
  readonly cloud: Distance;
}

const LONG_AGO_MS = 3_600_000;
const TICK_MS = 10;

interface Noted {
  off: number | null;
  firstDeleted: number | null;
  lastDeleted: number | null;
  elsewhere: number | null;
  cluster: number;
  cloud: number;
}

const portIn = (url: string): number => Number(new URL(url).port);

const openServers = async ({ sandbox }: FullNode, noted: Noted) => {
  const cluster = await openKubernetesServer(
    sandbox.api({
      faults: {
        after: (request, { status }) => {
          noted.cluster += 1;
          if (status < 300 && nameOf(request) === 'DELETE pods') noted.firstDeleted ??= performance.now();
          return undefined;
        },
      },
    }),
  );
  const cloud = await openStandIn((request) => {
    const { call: _call, ...answer } = sandbox.answer(request);
    noted.cloud += 1;
    if (sandbox.offStates.test(answer.body)) noted.off ??= performance.now();
    return answer;
  });
  return { cluster, cloud };
};

/** From now on, virtual time follows the real clock. */
const keepUp = ({ sandbox: { world }, left, elsewhere }: FullNode, { volumes }: Load, noted: Noted): (() => void) => {
  const timer = setInterval(() => {
    untilNow(world, 0);
    if (noted.firstDeleted === null) return;
    if (left().pods === 0) noted.lastDeleted ??= performance.now();
    if (elsewhere() >= volumes) noted.elsewhere ??= performance.now();
  }, TICK_MS);
  return () => clearInterval(timer);
};

export const openLiveNetwork = async (
  cloudName: string,
  load: Load,
  { cluster, cloud }: Network,
): Promise<LiveNetwork> => {
  const scene = await fullNode(cloudName, load, Date.now() - LONG_AGO_MS, (world) => untilNow(world, UNTIL_OFF_MS));
  const noted: Noted = { off: null, firstDeleted: null, lastDeleted: null, elsewhere: null, cluster: 0, cloud: 0 };
  const servers = await openServers(scene, noted);
  const proxies = [
    await openDelayProxy(portIn(servers.cluster.url), { ...cluster, opening: 1 }),
    await openDelayProxy(portIn(servers.cloud.url), { ...cloud, opening: 2 }),
  ] as const;
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-'));
  const kubeconfig = path.join(folder, 'kubeconfig');
  const url = `https://127.0.0.1:${proxies[0].port}`;
  await writeFile(kubeconfig, kubeconfigFor(url, servers.cluster.caData));
  const stop = keepUp(scene, load, noted);
  return {
    scene,
    server: { url, ca: servers.cluster.caData },
    environment: scene.sandbox.environment(`http://127.0.0.1:${proxies[1].port}`),
    kubeconfig,
    seen: () => ({ ...noted, bytes: proxies.reduce((sum, proxy) => sum + proxy.bytes(), 0) }),
    close: async () => {
      stop();
      for (const proxy of proxies) proxy.close();
      await Promise.all([servers.cluster.close(), servers.cloud.close(), rm(folder, { recursive: true })]);
    },
  };
};
