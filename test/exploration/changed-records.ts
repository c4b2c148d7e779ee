import { defaultPolicy } from '../../fencing/model/policy.ts';
import { RECORD_ANNOTATION } from '../../kubernetes/names.ts';
import type { Scenario } from './explore.ts';
import { labelOn } from './on-node.ts';
import { acceptsVouching, scenario } from './scenario.ts';
import type { Budget, World } from './world.ts';

/**
 * Worlds in which a kubelet has changed the record of a fence. Such a record counts as removed, whatever it says: it
 * neither allows more than no record nor keeps a fence from ending.
 */

type Fields = Readonly<Record<string, unknown>>;

const changed =
  (change: (record: Fields) => Fields, rest: Partial<World> = {}) =>
  ({ node }: World): Partial<World> => {
    const record: Fields = JSON.parse(node?.annotations[RECORD_ANNOTATION] ?? '{}');
    const text = JSON.stringify({ ...record, ...change(record) });
    const annotations = { ...node?.annotations, [RECORD_ANNOTATION]: text };
    return { ...rest, recordRemoved: node && labelOn(node), node: node && { ...node, annotations } };
  };

const elsewhere = { asked: 'elsewhere' } as const;

const after = (
  step: 'mark' | 'park',
  field: string,
  says: string,
  budget: Partial<Budget>,
  but: (start: World) => Partial<World>,
  policy = defaultPolicy,
): Scenario =>
  scenario(`left-${step}ed-with-another-${field}`, `${begins[step]} The kubelet changes the record: ${says}`, budget, {
    from: step,
    but,
    policy,
  });

const begins = { mark: 'A run died right after the mark.', park: 'A Node is parked.' } as const;

const UNKNOWN = 'From then on the cloud does not know the machine. It is started, and its kubelet is cut off.';
const GONE = 'The machine is terminated, and EC2 forgets it.';
const unknown = { starts: 1, cuts: 1 };
const gone = { terminations: 1, forgets: 1 };
const vouched = changed(({ lease }) => ({ vouched: 'the kubelet', generationDrifts: true, lease }));

export const changedRecords: readonly Scenario[] = [
  after(
    'mark',
    'generation',
    `no boot. ${UNKNOWN}`,
    unknown,
    changed(() => ({ generation: null }), elsewhere),
  ),
  after(
    'park',
    'generation',
    `no boot. ${UNKNOWN}`,
    unknown,
    changed(() => ({ generation: null }), elsewhere),
  ),
  after(
    'mark',
    'phase',
    'the phase `releasing`.',
    {},
    changed(() => ({ phase: 'releasing' })),
  ),
  after(
    'mark',
    'lift',
    `the phase \`lifted\`. ${GONE}`,
    gone,
    changed(() => ({ phase: 'lifted' })),
  ),
  after(
    'mark',
    'boot',
    `another boot. ${GONE}`,
    gone,
    changed(() => ({ bootID: 'another' })),
  ),
  after(
    'mark',
    'machine',
    `another machine. ${GONE}`,
    gone,
    changed(() => ({ machine: 'i-0aaaaaaaaaaaaaaaa' })),
  ),
  after(
    'mark',
    'node',
    'another Node.',
    {},
    changed(() => ({ nodeUid: 'another' })),
  ),
  after(
    'mark',
    'fence',
    'another fence.',
    {},
    changed(() => ({ fence: 'another' })),
  ),
  after(
    'park',
    'phase-and-accepted',
    'the phase `releasing`. The machine is started and stopped again, and a person ends the fence on their word.',
    { starts: 1, stops: 1, accepts: 1 },
    changed(() => ({ phase: 'releasing' })),
  ),
  after(
    'mark',
    'statement',
    'a statement by a person. The machine is started and hibernated.',
    { starts: 1, hibernations: 1 },
    vouched,
    acceptsVouching,
  ),
];
