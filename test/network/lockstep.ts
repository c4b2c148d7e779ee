import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Session, withSession } from '../../cli/session.ts';
import { newRunId } from '../../config/environment.ts';
import type { Clock } from '../../fencing/loop/ports.ts';
import { runAll } from '../../fencing/loop/run.ts';
import { openKubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import { nameOf } from '../bench/tally.ts';
import { kubeconfigFor } from '../cli/live-cloud.ts';
import { withEnvironment } from '../cli/run-cli.ts';
import { openStandIn } from '../providers/stand-in.ts';
import { openGate } from './gate.ts';
import type { FullNode } from './scene.ts';
import type { Trace, TracedRequest, Wire } from './trace.ts';

/**
 * A fence over real sockets, with the real SDKs, on a network whose trips take one round each. Virtual time passes only
 * with rounds and with sleeps, so the same code always takes the same rounds and makes the same calls.
 */

/** The virtual duration of one round: an API server that is 2 ms away and takes 8 ms to answer. */
const ROUND_MS = 10;
/**
 * The rounds of a new connection before its first byte arrives. The stand-in of the cloud has no TLS, but the cloud
 * has.
 */
const TCP = 1;
const TCP_AND_TLS = 2;

type Note = (seen: Omit<TracedRequest, 'round' | 'at'>) => void;

const openCluster = ({ sandbox }: FullNode, note: Note) =>
  openKubernetesServer(
    sandbox.api({
      faults: {
        after: (request, { body }) => {
          const [sent = 0, received = 0] = [request.body, body].map((text) => Buffer.byteLength(text));
          note({ api: 'cluster', call: nameOf(request), path: request.path, sent, received, offStates: false });
          return undefined;
        },
      },
    }),
  );

const openCloud = ({ sandbox }: FullNode, note: Note) =>
  openStandIn((request) => {
    const { call, ...answer } = sandbox.answer(request);
    const offStates = sandbox.offStates.test(answer.body);
    const received = Buffer.byteLength(answer.body);
    note({ api: 'cloud', call, path: request.url, sent: request.body.length, received, offStates });
    return answer;
  });

interface Network {
  readonly requests: readonly TracedRequest[];
  readonly wire: () => Wire;
  readonly environment: Readonly<Record<string, string>>;
  readonly close: () => Promise<void>;
}

const portIn = (url: string): number => Number(new URL(url).port);

const openNetwork = async (scene: FullNode): Promise<Network> => {
  const { world, environment } = scene.sandbox;
  const requests: TracedRequest[] = [];
  const gate = openGate(() => world.advance(ROUND_MS));
  const note: Note = (seen) => void requests.push({ ...seen, round: gate.round(), at: world.now() });
  const [cluster, cloud] = await Promise.all([openCluster(scene, note), openCloud(scene, note)]);
  const proxies = [
    await gate.openProxy(portIn(cluster.url), TCP),
    await gate.openProxy(portIn(cloud.url), TCP_AND_TLS),
  ] as const;
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-'));
  const kubeconfig = path.join(folder, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigFor(`https://127.0.0.1:${proxies[0].port}`, cluster.caData));
  return {
    requests,
    wire: () => ({
      bytes: proxies.reduce((sum, proxy) => sum + proxy.traffic().bytes, 0),
      connections: proxies.reduce((sum, proxy) => sum + proxy.traffic().connectedIn.length, 0),
      toCluster: proxies[0].traffic().connectedIn,
    }),
    environment: { ...environment(`http://127.0.0.1:${proxies[1].port}`), KUBECONFIG: kubeconfig },
    close: async () => {
      gate.close();
      await Promise.all([cluster.close(), cloud.close(), rm(folder, { recursive: true })]);
    },
  };
};

const clockOf = ({ sandbox: { world } }: FullNode): Clock => ({
  now: () => ({ wall: world.now(), mono: world.now() }),
  sleep: async (ms, signal) => {
    signal.throwIfAborted();
    world.advance(ms);
    await nextTurn();
  },
  timeout: () => new AbortController().signal,
});

const LASTS_MS = 600_000;

/** Runs the work as a command of the CLI does, in the time of the scene. */
const inSession = (scene: FullNode, { environment }: Network, work: (session: Session) => Promise<void>) => {
  const terminal = {
    line: () => undefined,
    complain: () => undefined,
    input: () => Readable.from([]),
    clock: clockOf(scene),
    screens: { output: null, errors: null },
  };
  return withEnvironment({ ...environment }, () =>
    withSession({ json: true, timeout: LASTS_MS }, terminal, async (session) => {
      await work(session);
      return 0;
    }),
  );
};

/** @throws if the machine was not fenced, because then the trace has no meaning */
const fence = async (machine: string, { ports, policy, deadline }: Session): Promise<void> => {
  const [outcome] = await runAll([machine], { policy, deadline, newRunId }, ports);
  if (outcome?.outcome !== 'fenced') throw new Error(`${machine}: ${JSON.stringify(outcome)}`);
};

/**
 * Fences the machine, and returns the trace. Cold means that no connection is open before. Warm means that the same
 * process has just fenced another machine.
 */
export const tracedFence = async (scene: FullNode, { warm }: { readonly warm: boolean }): Promise<Trace> => {
  const network = await openNetwork(scene);
  let before = { requests: 0, wire: network.wire() };
  try {
    await inSession(scene, network, async (session) => {
      if (warm) await fence(scene.other, session);
      before = { requests: network.requests.length, wire: network.wire() };
      await fence(scene.machine, session);
    });
    const { bytes, connections, toCluster } = network.wire();
    return {
      requests: network.requests.slice(before.requests),
      wire: {
        bytes: bytes - before.wire.bytes,
        connections: connections - before.wire.connections,
        toCluster: toCluster.slice(before.wire.toCluster.length),
      },
      ended: scene.sandbox.world.now(),
    };
  } finally {
    await network.close();
  }
};
