import { answerJson, answerLines, answerSchema, type FindingJson } from '../../diagnosis/answer.ts';
import { parseTarget } from '../../diagnosis/target.ts';
import { registeredClouds } from '../../config/clouds.ts';
import { type DiagnosisTools, runDiagnosis } from '../../config/diagnose.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { openConnection, createCluster } from '../../kubernetes/cluster.ts';
import { createDiagnosisReading } from '../../kubernetes/diagnose-reading.ts';
import { viewDisks } from '../../providers/aws/disks.ts';
import { apiOf, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject, listObjects } from '../../sandbox/cluster/get-objects.ts';
import type { PodObject, Resource, Resources } from '../../sandbox/cluster/objects.ts';
import { clientsOver, portsOver, type Troubles } from '../simulation/rig.ts';
import { clusterIn } from '../sandbox/in-process.ts';

/** A diagnosis of a sandbox: the shipped reading and rules over the real client of Kubernetes and the real SDK. */

export interface Diagnosed {
  readonly findings: readonly FindingJson[];
  readonly unread: readonly string[];
  /** What a person reads. */
  readonly text: string;
}

/** What a diagnosis works with, over a sandbox. */
export const toolsOver = async (world: AwsWorld, troubles: Troubles = {}): Promise<DiagnosisTools> => {
  const options = clusterIn(world, apiOf(world, { faults: troubles.api ?? {} }));
  const connection = openConnection(options);
  const ports = portsOver(world, troubles);
  const clouds = await registeredClouds();
  const driverFaultOf = (sentence: string) =>
    clouds.map((cloud) => cloud.driverFaultOf(sentence)).find((fault) => fault !== null) ?? null;
  return {
    openedCloud: {
      driverFaultOf,
      viewDisks: (volumes, signal) => viewDisks(clientsOver(world, troubles).reads, volumes, signal),
    },
    openClusters: [
      {
        cluster: createCluster(options),
        diagnosis: async () => (faultOf, signal) => createDiagnosisReading(connection, faultOf, signal),
      },
    ],
    policy: defaultPolicy,
    ports,
    deadline: world.now() + 600_000,
  };
};

export const diagnoseSandbox = async (
  world: AwsWorld,
  target?: string,
  troubles: Troubles = {},
): Promise<Diagnosed> => {
  const answer = await runDiagnosis(parseTarget(target), await toolsOver(world, troubles));
  const json = answerSchema.parse(answerJson(answer));
  return { ...json, text: `\n${answerLines(json).join('\n')}\n` };
};

/** The cause of the only finding. */
export const theCause = ({ findings, text }: Diagnosed): FindingJson['cause'] => {
  const [finding, ...more] = findings;
  if (!finding || more.length > 0) throw new Error(`one finding was expected: ${text}`);
  return finding.cause;
};

/** Edits an object as a person or a controller would. */
export const edit = <R extends Resource>(
  world: AwsWorld,
  resource: R,
  [name, namespace]: readonly [string, string?],
  change: (draft: Resources[R]) => void,
): void => {
  const object = getObject(world, resource, name, namespace);
  if (!object) throw new Error(`no ${resource} ${name}`);
  writerAs(world, 'person').change(resource, object, change);
};

/** The pods whose names begin so. */
export const podsNamed = (world: AwsWorld, prefix: string): readonly PodObject[] =>
  listObjects(world, 'pods').filter(({ metadata }) => metadata.name.startsWith(prefix));

/** The API server denies this resource. */
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
