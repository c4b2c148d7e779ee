import type { DiagnosisTools } from '../../app/diagnose.ts';
import { viewDisks } from '../../providers/aws/disks.ts';
import { apiOf, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject, listObjects } from '../../sandbox/cluster/get-objects.ts';
import type { PodObject, Resource, Resources } from '../../sandbox/cluster/objects.ts';
import { clientsOver, portsOver, type Troubles } from '../simulation/ports.ts';
import { clusterIn } from '../sandbox/in-process.ts';
import { type Diagnosed, diagnoseWith, toolsWith } from './sandbox-diagnosis.ts';

/** A diagnosis of an EC2 sandbox. */

/** What a diagnosis works with, on an EC2 sandbox. */
export const toolsOver = (world: AwsWorld, troubles: Troubles = {}): Promise<DiagnosisTools> =>
  toolsWith(
    clusterIn(world, apiOf(world, { faults: troubles.api ?? {} })),
    portsOver(world, troubles),
    (volumes, signal) => viewDisks(clientsOver(world, troubles).reads, volumes, signal),
  );

export const diagnoseSandbox = async (world: AwsWorld, target?: string, troubles: Troubles = {}): Promise<Diagnosed> =>
  diagnoseWith(await toolsOver(world, troubles), target);

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

/** The pods whose names begin with this text. */
export const podsNamed = (world: AwsWorld, prefix: string): readonly PodObject[] =>
  listObjects(world, 'pods').filter(({ metadata }) => metadata.name.startsWith(prefix));
