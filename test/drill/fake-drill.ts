import type { CheckOptions, DrillFacts } from '../../drill/checks.ts';
import type { DrillCluster, DrilledNode } from '../../drill/ports.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { cluster, machine, view } from '../fencing/view-builder.ts';

/** A drill in which nothing speaks against a stop, which each case changes a little: machine m-1 of Node node-a runs. */

export const drilledNode = (change: Partial<DrilledNode> = {}): DrilledNode => ({
  allowed: true,
  hostname: 'node-a',
  barred: [],
  pods: [],
  attachments: [],
  spares: ['node-b'],
  storageClass: { name: 'standard', deletesDisks: true },
  cap: { ...room, isOverridden: false },
  leftovers: [],
  reservedBy: null,
  ...change,
});

export const room = { begun: 0, unfinished: 0, limits: { begun: 4, unfinished: 2 }, nodes: 10, opens: null };

export const running = machine({ power: 'running', disks: [] });

export const drilledMachine = {
  hazards: [],
  nodeNames: ['node-a'],
  startCommand: 'start m-1',
  calls: [],
  standIn: null,
};

export const facts = (change: Partial<DrillFacts> = {}): DrillFacts => ({
  nodeName: 'node-a',
  clusterName: 'blue',
  machine: running,
  drilledMachine,
  cluster: cluster({ pods: [], volumes: [] }),
  drilledNode: drilledNode(),
  named: ['node-a in blue'],
  identityRules: view().identityRules,
  ownVolume: null,
  ...change,
});

export const checkOptions = (change: Partial<CheckOptions> = {}): CheckOptions => ({
  policy: defaultPolicy,
  allowCommand: 'allow',
  removeCommand: 'remove',
  freeCommand: 'free',
  reservation: null,
  suspendedGroup: null,
  storageClass: null,
  ...change,
});

export const commands: Pick<DrillCluster, 'freeCommand' | 'removeCommand' | 'allowCommand'> = {
  freeCommand: () => 'free',
  removeCommand: () => 'remove',
  allowCommand: () => 'allow',
};
