/** What is mutated together, with the tests that have to notice it. */
export interface Room {
  readonly name: string;
  readonly mutates: readonly string[];
  /**
   * Tests that take milliseconds, the fastest first, because each mutant runs the tests that reach it, until one fails.
   */
  readonly tests: readonly string[];
  /** The smallest share of mutants that has to be killed. */
  readonly least: number;
}

export const DECISIONS = 'test/fencing/!(decide-always).test.ts';
const INCIDENTS =
  'test/simulation/{foreign-taint,unexpected,nameless-node,imposter,clusters,unserved,reused-name}.test.ts';

export const rooms: readonly Room[] = [
  { name: 'rules', mutates: ['fencing/rules/*.ts'], tests: [DECISIONS], least: 1 },
  {
    name: 'loop, pure',
    mutates: ['fencing/loop/{apply-step,command,ending,facts-after-step,next-command,reads,reduce,state}.ts'],
    tests: [DECISIONS],
    least: 1,
  },
  {
    name: 'loop, driver',
    mutates: ['fencing/loop/{admission,groups,locate,look,ports,run,sleep,survey}.ts'],
    tests: [DECISIONS, INCIDENTS],
    least: 1,
  },
  {
    name: 'model and sweep',
    mutates: ['fencing/model/*.ts', 'fencing/sweep/*.ts'],
    tests: [DECISIONS, INCIDENTS, 'test/simulation/sweep.test.ts'],
    least: 0.9,
  },
  {
    name: 'proofs',
    mutates: ['providers/*/power.ts', 'providers/*/identity.ts', 'providers/azure/actions.ts'],
    tests: [
      'test/providers/{aws,azure,gcp}/{classify,facts,identity,node-names}.test.ts',
      'test/providers/aws/look-in-territories.test.ts',
      'test/providers/azure/{former-machine,holders}.test.ts',
      'test/providers/{aws,azure,gcp}/look.test.ts',
      'test/providers/aws/{witness,territories}.test.ts',
      'test/providers/azure/orders.test.ts',
      'test/providers/{aws,azure,gcp}/{detach,detach-together}.test.ts',
      'test/providers/{azure,gcp}/answers.test.ts',
    ],
    least: 0.9,
  },
  {
    name: 'calls and looks of the providers',
    mutates: ['providers/*/{actions,disks,errors,look}.ts'],
    tests: [
      'test/providers/{aws,azure,gcp}/{errors,disks,facts,detach,power-off}.test.ts',
      'test/providers/aws/{look-in-territories,witness,territories}.test.ts',
      'test/providers/azure/{former-machine,holders,orders,detach-together}.test.ts',
      'test/contract/provider/{sandbox-ec2,sandbox-azure,sandbox-gce,territories}.test.ts',
      'test/providers/{aws,azure,gcp}/{look,answers}.test.ts',
      'test/diagnosis/{aws-incidents,azure-incidents,gce-incidents,denied}.test.ts',
    ],
    least: 0.9,
  },
  {
    name: 'permits',
    mutates: ['transport/{under-permit,connections}.ts', 'kubernetes/exchange.ts'],
    tests: [
      'test/transport/{permitted-call,hold,ahead,under-permit}.test.ts',
      'test/kubernetes/{exchange,refreshing-link,empty-answer,https}.test.ts',
      'test/transport/{late-bytes,tunnel}.test.ts',
    ],
    least: 0.9,
  },
  {
    name: 'ledger',
    mutates: ['kubernetes/ledger-{map,text}.ts'],
    tests: ['test/kubernetes/ledger-{changes,text}.test.ts', 'test/simulation/{ledger,cap}.test.ts'],
    least: 0.9,
  },
  {
    name: 'preconditions',
    mutates: [
      'kubernetes/{fence-patch,node-patch,record-seal,apply,node,node-facts,pods,attachments,leases,suspects}.ts',
      'kubernetes/{volumes,volume-facts,successors,errors}.ts',
    ],
    tests: [
      'test/kubernetes/{node-facts,record-seal,errors,volume-handle}.test.ts',
      'test/kubernetes/{node-patch,tolerations,attachment-name,pod-facts,rechecks,find,leases,suspects}.test.ts',
      'test/contract/cluster/sandbox.test.ts',
      'test/kubernetes/{endless,fewer-reads,trouble,empty-answer}.test.ts',
      INCIDENTS,
    ],
    least: 0.9,
  },
  {
    name: 'looks and calls',
    mutates: ['kubernetes/{look,leftovers,connection}.ts'],
    tests: [
      'test/kubernetes/{find,fewer-reads,trouble,empty-answer,suspects,endless}.test.ts',
      'test/contract/cluster/sandbox.test.ts',
      INCIDENTS,
    ],
    least: 0.9,
  },
  {
    name: 'readings',
    mutates: ['kubernetes/readings/*.ts'],
    tests: ['test/kubernetes/aftermath.test.ts', 'test/diagnosis/*.test.ts', 'test/{cli/init,functions/watch}.test.ts'],
    least: 0.9,
  },
  {
    name: 'drill in the cluster',
    mutates: ['kubernetes/drill/*.ts'],
    tests: ['test/kubernetes/drill.test.ts', 'test/drill/{refusals,undo,drill}.test.ts'],
    least: 0.9,
  },
];
