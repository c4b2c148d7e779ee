import { expect } from 'vitest';
import { answerJson, answerLines, answerSchema, type FindingJson } from '../../diagnosis/answer.ts';
import { parseTarget } from '../../diagnosis/target.ts';
import { registeredClouds } from '../../app/clouds.ts';
import { type DiagnosisTools, runDiagnosis } from '../../app/diagnose.ts';
import type { Ports } from '../../fencing/loop/ports.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { type ClusterOptions, openConnection, createCluster } from '../../kubernetes/cluster.ts';
import { createDiagnosisReading } from '../../kubernetes/readings/diagnosis.ts';

/** A diagnosis of any sandbox: the shipped reading and rules with the real clients. It belongs to no cloud. */

export interface Diagnosed {
  readonly findings: readonly FindingJson[];
  readonly unread: readonly string[];
  /** What a person reads. */
  readonly text: string;
}

/** What a diagnosis works with, on a cluster and a cloud of any sandbox. */
export const toolsWith = async (
  options: ClusterOptions,
  ports: Ports,
  viewDisks: DiagnosisTools['openedCloud']['viewDisks'],
): Promise<DiagnosisTools> => {
  const connection = openConnection(options);
  const clouds = await registeredClouds();
  const driverFaultOf = (sentence: string) =>
    clouds.map((cloud) => cloud.driverFaultOf(sentence)).find((fault) => fault !== null) ?? null;
  return {
    openedCloud: { driverFaultOf, viewDisks },
    openClusters: [
      {
        cluster: createCluster(options),
        diagnosis: async () => (faultOf, signal) => createDiagnosisReading(connection, faultOf, signal),
      },
    ],
    policy: defaultPolicy,
    ports,
    deadline: ports.clock.now().mono + 600_000,
  };
};

export const diagnoseWith = async (tools: DiagnosisTools, target?: string): Promise<Diagnosed> => {
  const json = answerSchema.parse(answerJson(await runDiagnosis(parseTarget(target), tools)));
  return { ...json, text: `\n${answerLines(json).join('\n')}\n` };
};

/**
 * Returns the cause of the only finding, and compares what a person reads with the golden answer in `__snapshots__`.
 */
export const theCause = ({ findings, text }: Diagnosed): FindingJson['cause'] => {
  const [finding, ...more] = findings;
  if (!finding || more.length > 0) throw new Error(`one finding was expected: ${text}`);
  expect(text).toMatchSnapshot(finding.cause.kind);
  return finding.cause;
};

/** Makes the API server deny this resource. */
export const denying = (resource: string) => ({
  api: {
    before: ({ path }: { readonly path: string }) => {
      if (!path.split('?')[0]?.split('/').includes(resource)) return undefined;
      const body = {
        kind: 'Status',
        status: 'Failure',
        reason: 'Forbidden',
        message: `${resource} is forbidden`,
        code: 403,
      };
      return { status: 403, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    },
  },
});

/** A clock, and a call that never answers, for which the time limit that began last is over at once. */
export const silence = (clock: Ports['clock']) => {
  const limits: AbortController[] = [];
  const timeout = (): AbortSignal => {
    const limit = new AbortController();
    limits.push(limit);
    return limit.signal;
  };
  const never = (): Promise<never> => {
    limits.at(-1)?.abort(new Error('the time is over'));
    return new Promise(() => undefined);
  };
  return { clock: { ...clock, timeout }, never };
};

/** Adds a cluster that takes each request and never answers. */
export const withSilentCluster = (tools: DiagnosisTools, name: string): DiagnosisTools => {
  const { clock, never } = silence(tools.ports.clock);
  const silent = tools.openClusters.map(({ cluster }) => ({
    cluster: { ...cluster, name, identify: never, suspects: never, find: never },
    diagnosis: never,
  }));
  return { ...tools, openClusters: [...tools.openClusters, ...silent], ports: { ...tools.ports, clock } };
};
