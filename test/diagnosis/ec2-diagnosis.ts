import type { DiagnosisTools } from '../../app/diagnose.ts';
import { viewDisks } from '../../providers/aws/disks.ts';
import { apiOf, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { listObjects } from '../../sandbox/cluster/get-objects.ts';
import type { PodObject } from '../../sandbox/cluster/objects.ts';
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

export { editIn as edit } from './cloud-scenes.ts';

/** The pods whose names begin with this text. */
export const podsNamed = (world: AwsWorld, prefix: string): readonly PodObject[] =>
  listObjects(world, 'pods').filter(({ metadata }) => metadata.name.startsWith(prefix));
