import { expect, it } from 'vitest';
import { stage as aws } from '../../../providers/aws/plugin/stage.ts';
import { stage as azure } from '../../../providers/azure/plugin/stage.ts';
import { stage as gcp } from '../../../providers/gcp/plugin/stage.ts';
import type { SeenCluster, SeenNode, StageWriter } from '../../../providers/stage.ts';

/** The commands that `init` prints for a cluster in which someone has written a command into every name. */

const COMMAND = '$(reboot);id';

const clusterWith = (node: Partial<SeenNode>): SeenCluster => ({
  name: `sand${COMMAND}box`,
  context: COMMAND,
  kubeconfigCluster: COMMAND,
  kubeconfigUser: COMMAND,
  host: '127.0.0.1',
  programArgs: ['--cluster-name', COMMAND],
  version: 'v1.36.3',
  nodes: [
    {
      name: 'node-1',
      providerID: COMMAND,
      machine: null,
      labels: { 'topology.kubernetes.io/region': `eu-west-1${COMMAND}` },
      ...node,
    },
  ],
});

/** Removes what the shell does not interpret. */
const outsideQuotes = (line: string): string => line.replaceAll(/'[^']*'/g, '');

it.each<[string, StageWriter, Partial<SeenNode>]>([
  ['AWS', aws, { providerID: `aws:///${COMMAND}/i-1` }],
  [
    'Azure',
    azure,
    { machine: `/subscriptions/${COMMAND}/resourcegroups/g/providers/microsoft.compute/virtualmachines/vm-1` },
  ],
  ['Google Cloud', gcp, { machine: `projects/${COMMAND}/zones/europe-west1-a/instances/vm-1` }],
])('no name is executed as a command on %s', (_, stage, node) => {
  const clusters = [clusterWith(node)];
  const commands = [...stage.steps('prod', clusters, 'checkout'), ...stage.cliSteps(clusters)].filter(
    (line) => !line.startsWith('#'),
  );
  expect(commands.length).toBeGreaterThan(3);
  for (const line of commands) expect(outsideQuotes(line)).not.toMatch(/\$\(reboot|;id/);
});
