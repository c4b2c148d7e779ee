import type { Cloud } from '../../fencing/model/cloud.ts';
import type { Cluster } from '../../fencing/model/cluster.ts';
import type { Outcome } from '../../fencing/model/outcome.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { runAll } from '../../fencing/loop/run.ts';
import type { Ports } from '../../fencing/loop/ports.ts';
import { sweep } from '../../fencing/sweep/sweep.ts';
import { callClock } from '../../kubernetes/connection.ts';
import { createCluster } from '../../kubernetes/cluster.ts';
import type { Link } from '../../kubernetes/exchange.ts';
import { linkFromToken } from '../../kubernetes/access.ts';
import { awsCloud } from '../../providers/aws/index.ts';
import { ec2Clients } from '../../providers/aws/client.ts';
import { job, MOMENT_HEADER, type Finding, type Job } from './job.ts';
import { paceFrom, type Pace } from './pace.ts';
import { watchMemory } from './peak.ts';

/**
 * The other process of the benchmark: Cloudfence with its real adapters, so that its cost does not include that of the
 * sandbox.
 */

/** The duration of a call (ms of virtual time). */
const API_CALL_TAKES = 8;
const EC2_CALL_TAKES = 80;
const RUN_LASTS_MS = 300_000;

/** The size of the cluster prevents no fence of a sweep, so all sizes have the same work. */
const policy = { ...defaultPolicy, cap: { share: 1, atOnce: 1 } };

const clusterAt = (
  { kubernetes: { url, ca, token } }: Job,
  pace: Pace,
  seen: () => void,
): { readonly cluster: Cluster; readonly link: Link } => {
  const inner = linkFromToken({ server: url, ca, token: async () => token });
  const send: Link['send'] = (request, permit) =>
    pace.call(API_CALL_TAKES, async (arrives) => {
      request.setHeaderParam(MOMENT_HEADER, String(arrives));
      const response = await inner.send(request, permit);
      const body = await response.body.text();
      seen();
      response.body = { ...response.body, text: async () => body };
      return response;
    });
  const link = { ...inner, send };
  return { cluster: createCluster({ name: 'bench', link, clock: { ...pace, deadline: callClock.deadline } }), link };
};

const hasHeaders = (request: unknown): request is { headers: Record<string, string> } =>
  typeof request === 'object' && request !== null && 'headers' in request;

const cloudAt = ({ ec2: { url, region } }: Job, pace: Pace): Cloud => {
  const clients = ec2Clients({
    region,
    endpoint: url,
    credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
  });
  const paced = (client: typeof clients.reads): typeof clients.reads => {
    client.middlewareStack.add(
      (next) => (args) =>
        pace.call(EC2_CALL_TAKES, (arrives) => {
          if (hasHeaders(args.request)) args.request.headers[MOMENT_HEADER] = String(arrives);
          return next(args);
        }),
      { step: 'deserialize', priority: 'high' },
    );
    return client;
  };
  const pacedClients: typeof clients = {
    reads: paced(clients.reads),
    writes: (passage) => paced(clients.writes(passage)),
  };
  return awsCloud({ clients: pacedClients, region });
};

const outcomesOf = async (machine: string | null, ports: Ports): Promise<readonly Outcome[]> => {
  let runs = 0;
  const runOptions = { policy, deadline: ports.clock.now().mono + RUN_LASTS_MS, newRunId: () => `run-${(runs += 1)}` };
  if (machine !== null) return runAll([machine], runOptions, ports);
  const { outcomes, unreachable } = await sweep(runOptions, ports);
  for (const { error } of unreachable) throw error;
  return outcomes;
};

const measure = async (asked: Job): Promise<Finding> => {
  const pace = paceFrom(asked.now);
  const memory = watchMemory();
  const { cluster, link } = clusterAt(asked, pace, memory.look);
  const clock = {
    now: () => ({ wall: pace.now(), mono: pace.now() }),
    sleep: pace.sleep,
    timeout: () => new AbortController().signal,
  };
  const ports = {
    cloud: cloudAt(asked, pace),
    clusters: [cluster],
    clock,
    signal: new AbortController().signal,
    observe: () => undefined,
  };
  const began = performance.now();
  const outcomes = await outcomesOf(asked.machine, ports);
  const ms = performance.now() - began;
  const peak = memory.peak();
  await link.close();
  return {
    outcomes: outcomes.map(({ machine, outcome, reason }) => ({ machine, outcome, says: reason.says })),
    ...peak,
    ms,
    virtualMs: pace.now() - asked.now,
  };
};

process.once('message', (message) => {
  void measure(job.parse(message)).then((finding) => process.send?.(finding, () => process.disconnect()));
});
