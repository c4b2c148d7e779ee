/** What is mutated together, with the tests that have to notice. */
export interface Room {
  readonly name: string;
  readonly mutates: readonly string[];
  /** Tests that take milliseconds, because each mutant runs all of them that reach it. */
  readonly tests: readonly string[];
  /** The least share of mutants that has to be killed. */
  readonly least: number;
}

const DECISIONS = 'test/fencing/!(decide-always).test.ts';
const INCIDENTS =
  'test/simulation/{foreign-taint,unexpected,nameless-node,imposter,clusters,unserved,reused-name}.test.ts';

export const rooms: readonly Room[] = [
  { name: 'rules', mutates: ['fencing/rules/*.ts'], tests: [DECISIONS], least: 1 },
  {
    name: 'loop, pure',
    mutates: ['fencing/loop/{apply-step,ending,imagine,next-command,reduce,state}.ts'],
    tests: [DECISIONS],
    least: 1,
  },
  {
    name: 'loop, driver',
    mutates: ['fencing/loop/{locate,look,react,run,survey}.ts'],
    tests: [DECISIONS, INCIDENTS],
    least: 0.9,
  },
  {
    name: 'model and sweep',
    mutates: ['fencing/model/*.ts', 'fencing/sweep/*.ts'],
    tests: [DECISIONS, INCIDENTS, 'test/simulation/sweep.test.ts'],
    least: 0.9,
  },
  {
    name: 'proofs and permits',
    mutates: ['providers/*/power.ts', 'providers/*/identity.ts', 'transport/under-permit.ts'],
    tests: [
      'test/providers/{aws,azure,gcp}/{classify,carriers,former-machine,holders,node-names,look-in-territories}.test.ts',
      'test/providers/azure/{look,answers,orders}.test.ts',
      'test/providers/aws/witness.test.ts',
      'test/transport/under-permit.test.ts',
    ],
    least: 0.9,
  },
  {
    name: 'preconditions',
    mutates: ['kubernetes/fence-patch.ts', 'kubernetes/apply.ts', 'kubernetes/node.ts'],
    tests: ['test/kubernetes/{node-patch,suspects}.test.ts', INCIDENTS],
    least: 0.9,
  },
];
