import { CSI_NODE_IDS } from '../../kubernetes/names.ts';
import { ANOTHER_ID, azureDrifting, azureManaged, azureTorn, ec2, gce } from './clouds.ts';
import type { Scenario } from './explore.ts';
import type { Story } from './story.ts';
import { OLDEST_TICKS } from './time.ts';
import { changedRecords } from './changed-records.ts';
import { imagined } from './imagined.ts';
import { people } from './people.ts';
import { powersOff, withPolicies } from './policies.ts';
import { acceptsVouching, assumed, scenario, type Special } from './scenario.ts';
import { type Assumption, type Budget, healthy, longAgo, type Machine, type World } from './world.ts';

/** A world in which another machine boots on the Node, with the next pod of the database. */
const usedByAnother: World = ((world: World) => ({
  ...world,
  machine: { ...world.machine, boot: 2, kernel: 2 },
  podNumber: 2,
  attachmentNumber: 2,
  lease: { renewal: 1, age: 0 },
}))(healthy({}));

const datedLongAgo = ({ machine, lease }: World): Partial<World> => ({
  machine: { ...machine, offFor: null },
  lease: { ...lease, age: OLDEST_TICKS },
});

/** What happens to the machine. */
const machines: readonly Scenario[] = [
  scenario('stop', 'The machine is stopped once.', { stops: 1 }),
  scenario('stop-and-fault', 'The machine is stopped, and one call fails or loses its answer.', {
    stops: 1,
    faults: 1,
  }),
  scenario('stop-and-renewal', 'The machine is stopped, and its kubelet renews its Lease at any time.', {
    stops: 1,
    renewals: 1,
  }),
  scenario('terminate', 'The machine is stopped and terminated, and its Node is deleted.', {
    stops: 1,
    terminations: 1,
  }),
  scenario('forgotten', 'The machine is terminated, and EC2 forgets it.', { stops: 1, terminations: 1, forgets: 1 }),
  scenario(
    'attacher-down',
    'The machine is stopped, and the CSI attacher is down.',
    { stops: 1 },
    { but: { attacherDown: true } },
  ),
  scenario(
    'attacher-down-and-restart',
    'The machine is stopped and started again, and the CSI attacher is down.',
    { stops: 1, starts: 1 },
    { but: { attacherDown: true } },
  ),
  scenario(
    'attacher-down-and-terminated',
    'The machine is stopped and terminated, its Node is deleted, and the CSI attacher is down.',
    { stops: 1, terminations: 1 },
    { but: { attacherDown: true } },
  ),
  scenario('cut-off', 'The kubelet is cut off, and the machine may be stopped.', { stops: 1, cuts: 1 }),
  scenario('restart', 'The machine is stopped and started again.', { stops: 1, starts: 1 }),
  scenario('hibernate', 'The machine is hibernated, and resumes.', { hibernations: 1, starts: 1 }),
  scenario(
    'hibernate-later',
    'The machine is off, is started, and is hibernated.',
    { starts: 1, hibernations: 1 },
    { from: 'off' },
  ),
];

/** The configuration names the wrong account, so the cloud does not know the machine. */
const askedElsewhere: readonly Scenario[] = (['wrong-account', 'google-wrong-project'] as const).map((name) =>
  scenario(
    name,
    'The cloud is asked where it knows no such machine. The kubelet is cut off, and the machine may be stopped.',
    { stops: 1, cuts: 1 },
    { but: { asked: 'elsewhere' }, cloud: name === 'wrong-account' ? ec2 : gce },
  ),
);

/** A fence has freed the disk. From then on, the cloud does not know the machine, although it may be started again. */
const unknownAfterwards: readonly Scenario[] = [
  scenario(
    'left-parked-and-unknown',
    'A Node is parked, and from then on the cloud does not know the machine. It is started, and its kubelet is cut off.',
    { starts: 1, cuts: 1 },
    { from: 'park', but: { asked: 'elsewhere' } },
  ),
  scenario(
    'left-marked-and-unknown',
    'A run died right after the mark, and from then on the cloud does not know the machine. It is started, and its kubelet is cut off.',
    { starts: 1, cuts: 1 },
    { from: 'mark', but: { asked: 'elsewhere' } },
  ),
  scenario(
    'left-marked-without-record-and-unknown',
    "A run died right after the mark, and the Node's record was removed. From then on the cloud does not know the machine. It is started, and its kubelet is cut off.",
    { starts: 1, cuts: 1 },
    {
      from: 'mark',
      but: ({ node }) => ({
        asked: 'elsewhere',
        node: node && { ...node, annotations: healthy({}).node?.annotations ?? {} },
      }),
    },
  ),
];

/** Another machine runs under the name of the Node, and a hint about the former machine comes late. */
const reusedNodes: readonly Scenario[] = [
  scenario(
    'reused-node',
    'Another machine has the Node of a terminated one. It may be cut off and stopped.',
    { stops: 1, cuts: 1 },
    { but: { asked: 'about a former that is terminated' } },
  ),
  scenario(
    'reused-node-of-a-stopped-machine',
    'Another machine has the Node of one that is off.',
    {},
    { but: { asked: 'about a former that is off' } },
  ),
  scenario(
    'reused-parked-node',
    'A Node is parked. Another machine gets it, with the database. It may be cut off, stopped, and started.',
    { stops: 1, starts: 1, cuts: 1 },
    {
      from: 'park',
      but: ({ node }) => ({
        ...usedByAnother,
        asked: 'about a former that is off',
        node: node && { ...node, boot: usedByAnother.machine.kernel, ready: true },
      }),
    },
  ),
  scenario(
    'two-identities',
    'The Node of a machine has the providerID of another one, which is off. It may be cut off, stopped, and started.',
    { stops: 1, starts: 1, cuts: 1 },
    {
      but: ({ node }) => ({
        asked: 'about a former that is off',
        node: node && {
          ...node,
          annotations: { ...node.annotations, [CSI_NODE_IDS]: JSON.stringify({ [ec2.driver]: ANOTHER_ID }) },
        },
      }),
    },
  ),
];

/** A person deletes the Node. Only its pods and its VolumeAttachment are left. */
const deletedNodes: readonly Scenario[] = [
  scenario('node-deleted', 'The machine is stopped, and a person deletes the Node.', { stops: 1, nodeDeletions: 1 }),
  scenario(
    'left-marked-and-node-deleted',
    'A run died right after the mark. A person deletes the Node, and the machine is started.',
    { starts: 1, nodeDeletions: 1 },
    { from: 'mark' },
  ),
  scenario(
    'left-parked-and-node-deleted',
    'A Node is parked. A person deletes the Node, and the machine is started and stopped again.',
    { starts: 1, stops: 1, nodeDeletions: 1 },
    { from: 'park' },
  ),
];

/** A dead run has left a fence in a certain phase. */
const leftFences: readonly Scenario[] = [
  scenario(
    'left-marked',
    'A run died right after the mark. The machine is started and stopped again.',
    { starts: 1, stops: 1 },
    { from: 'mark' },
  ),
  scenario(
    'left-marked-and-stopping',
    'A run died right after the mark. The machine was started before another run looked, and is being stopped.',
    {},
    {
      from: 'mark',
      but: ({ machine }) => ({
        machine: { ...machine, power: 'stopping', boot: 2, kernel: 2, started: assumed.bootToMount + 1 },
        swept: false,
      }),
    },
  ),
  scenario(
    'left-parked',
    'A Node is parked. The machine is started and stopped again.',
    { starts: 1, stops: 1 },
    { from: 'park' },
  ),
  scenario(
    'left-parked-and-renewed',
    'A Node is parked while it is still Ready. The machine is started, and its kubelet renews its Lease at any time.',
    { starts: 1, renewals: 1 },
    {
      from: 'park',
      but: ({ node, lease }) => ({ node: node && { ...node, ready: true }, lease: { ...lease, age: 0 } }),
    },
  ),
  scenario(
    'left-parked-and-replaced',
    "A Node is parked. The machine is started, the database's next pod comes to it, and the machine is stopped again.",
    { starts: 1, stops: 1, replacements: 1 },
    { from: 'park', but: { disk: 'free' } },
  ),
  scenario(
    'left-marked-and-replaced',
    "A run died right after the mark. The machine is started, and the database's next pod comes to it.",
    { starts: 1, replacements: 1 },
    { from: 'mark' },
  ),
];

/** The same events on the other clouds. */
const clouds: readonly Scenario[] = [
  scenario('azure-stop', 'Azure: the machine is deallocated.', { stops: 1 }, { cloud: azureManaged }),
  scenario('azure-shutdown', 'Azure: the guest shuts itself down.', { shutdowns: 1 }, { cloud: azureManaged }),
  scenario(
    'azure-drift',
    'Azure: the machine is deallocated, and each detach changes its generation.',
    { stops: 1 },
    { cloud: azureDrifting },
  ),
  scenario(
    'azure-terminate',
    'Azure: the machine is deallocated and deleted.',
    { stops: 1, terminations: 1 },
    { cloud: azureManaged },
  ),
  scenario(
    'azure-hibernate',
    'Azure: the machine is hibernated, and resumes.',
    { hibernations: 1, starts: 1 },
    { cloud: azureManaged },
  ),
  scenario(
    'azure-recreate',
    'Azure: the machine is deleted, and another one is created under its name.',
    { stops: 1, terminations: 1, recreations: 1 },
    { cloud: azureManaged },
  ),
  scenario('google-stop', 'Google Cloud: the machine is stopped.', { stops: 1 }, { cloud: gce }),
  scenario(
    'google-terminate',
    'Google Cloud: the machine is stopped and deleted.',
    { stops: 1, terminations: 1 },
    { cloud: gce },
  ),
  scenario(
    'google-hibernate',
    'Google Cloud: the machine is suspended, and resumes.',
    { hibernations: 1, starts: 1 },
    { cloud: gce },
  ),
  scenario(
    'google-recreate',
    'Google Cloud: the machine is deleted, and another one is created under its name.',
    { stops: 1, terminations: 1, recreations: 1 },
    { cloud: gce },
  ),
];

const otherClouds = [
  ['azure-', 'Azure', azureManaged],
  ['azure-drift-', 'Azure, where each detach changes the generation', azureDrifting],
  ['google-', 'Google Cloud', gce],
] as const;

/** Events after the first stop of a machine, on the other clouds. */
const laterOnClouds: readonly Scenario[] = otherClouds.flatMap(([name, where, cloud]) => [
  scenario(
    `${name}left-parked`,
    `${where}: a Node is parked. The machine is started and stopped again.`,
    { starts: 1, stops: 1 },
    { from: 'park', cloud },
  ),
  scenario(
    `${name}left-marked-and-started`,
    `${where}: a run died right after the mark. The machine is started.`,
    { starts: 1 },
    { from: 'mark', cloud },
  ),
  scenario(
    `${name}power-off`,
    `${where}: the kubelet is cut off, and the policy is to power the machine off.`,
    { cuts: 1 },
    { policy: powersOff, cloud },
  ),
]);

/** People and others act after the mark. */
const afterTheMark: readonly Scenario[] = [
  scenario(
    'left-marked-and-removed',
    'A run died right after the mark. A person removes the fence or our taint, and the machine is started.',
    { removals: 1, starts: 1 },
    { from: 'mark' },
  ),
  scenario(
    'left-marked-and-record-removed',
    "A run died right after the mark. The kubelet removes the Node's record, and the machine is terminated, and EC2 forgets it.",
    { recordRemovals: 1, terminations: 1, forgets: 1 },
    { from: 'mark' },
  ),
  scenario(
    'left-parked-and-record-removed',
    "A Node is parked. The kubelet removes the Node's record, and the machine is started and stopped again.",
    { recordRemovals: 1, starts: 1, stops: 1 },
    { from: 'park' },
  ),
  scenario(
    'left-marked-and-cut-off',
    'A run died right after the mark. The machine is started, and its kubelet is cut off.',
    { starts: 1, cuts: 1 },
    { from: 'mark' },
  ),
  scenario(
    'left-marked-and-hibernated',
    'A run died right after the mark. The machine is started and hibernated.',
    { starts: 1, hibernations: 1 },
    { from: 'mark' },
  ),
  scenario(
    'left-marked-and-terminated',
    'A run died right after the mark. The machine is terminated, and EC2 forgets it.',
    { terminations: 1, forgets: 1 },
    { from: 'mark' },
  ),
  scenario(
    'azure-shutdown-and-restart',
    'Azure: the guest shuts itself down, and the machine is started again.',
    { shutdowns: 1, starts: 1 },
    { cloud: azureManaged },
  ),
  scenario(
    'azure-torn',
    'Azure: the machine is off and is started, which its OS disk may show first, and its guest shuts it down.',
    { starts: 1, shutdowns: 1 },
    { cloud: azureTorn, from: 'off' },
  ),
];

/** Two runs at once. */
const twoRuns: readonly Scenario[] = [
  scenario('two-runs', 'The machine is off, and two runs fence it.', {}, { runs: 2, from: 'off' }),
  scenario(
    'two-runs-and-fault',
    'The machine is off, two runs fence it, and one call fails or loses its answer.',
    { faults: 1 },
    { runs: 2, from: 'off' },
  ),
  scenario(
    'two-runs-after-the-mark',
    'A run died right after the mark, and two runs go on with its fence.',
    {},
    { runs: 2, from: 'mark' },
  ),
  scenario(
    'two-runs-left-parked',
    'A Node is parked. The machine is started and stopped again, while two runs release and fence it.',
    { starts: 1, stops: 1 },
    { runs: 2, from: 'park' },
  ),
];

/** Two runs at once, in a healthy cluster. The time is limited, so that the exploration ends. */
const within = (
  ticksLeft: number,
  name: string,
  says: string,
  budget: Partial<Budget>,
  special: Pick<Special, 'policy' | 'cloud'> = {},
): Scenario =>
  scenario(
    name,
    `${says}, while two runs look. ${ticksLeft === 0 ? 'No second passes' : `At most ${ticksLeft} s pass`}.`,
    budget,
    {
      runs: 2,
      but: (world) => ({ ...datedLongAgo(world), ticksLeft }),
      ...special,
    },
  );

const twoRunsFromHealth: readonly Scenario[] = [
  within(1, 'two-runs-from-the-stop', 'The machine is stopped', { stops: 1 }),
  within(0, 'two-runs-and-restart', 'The machine is stopped and started again', { stops: 1, starts: 1 }),
  within(
    0,
    'two-runs-and-termination',
    'Azure: the machine is deallocated and deleted',
    { stops: 1, terminations: 1 },
    { cloud: azureManaged },
  ),
  within(
    0,
    'google-two-runs-and-termination',
    'Google Cloud: the machine is stopped and deleted',
    { stops: 1, terminations: 1 },
    { cloud: gce },
  ),
  within(0, 'two-runs-and-forgotten', 'The machine is terminated, and EC2 forgets it', {
    stops: 1,
    terminations: 1,
    forgets: 1,
  }),
  within(0, 'two-runs-and-removal', 'The machine is stopped, and a person removes the fence or our taint', {
    stops: 1,
    removals: 1,
  }),
  within(0, 'two-runs-and-node-deleted', 'The machine is stopped, and a person deletes the Node', {
    stops: 1,
    nodeDeletions: 1,
  }),
  within(
    0,
    'two-runs-power-off',
    'The kubelet is cut off, and the policy is to power the machine off',
    { cuts: 1 },
    { policy: powersOff },
  ),
];

/** Two pods on the Node, which a run deletes at the same time. */
const twoPods: readonly Scenario[] = [
  scenario(
    'two-pods',
    'The machine is stopped, and two pods are on its Node.',
    { stops: 1 },
    { but: { neighbor: 'bound' } },
  ),
  scenario(
    'two-pods-and-fault',
    'The machine is off, two pods are on its Node, and one call fails or loses its answer.',
    { faults: 1 },
    { from: 'off', but: { neighbor: 'deleting' } },
  ),
  scenario(
    'two-pods-restart',
    'A run died right after the mark, two pods are on the Node, and the machine is started.',
    { starts: 1 },
    { from: 'mark', but: { neighbor: 'deleting' } },
  ),
  scenario(
    'two-pods-removed',
    'A run died right after the mark, two pods are on the Node, and a person removes the fence or our taint.',
    { removals: 1 },
    { from: 'mark', but: { neighbor: 'deleting' } },
  ),
];

/** The same on each cloud. */
const everywhere = (
  name: string,
  says: string,
  budget: Partial<Budget>,
  special: Pick<Special, 'from' | 'slow'>,
): readonly Scenario[] => [
  scenario(name, says, budget, special),
  ...otherClouds.map(([prefix, where, cloud]) =>
    scenario(`${prefix}${name}`, `${where}: ${says.charAt(0).toLowerCase()}${says.slice(1)}`, budget, {
      ...special,
      cloud,
    }),
  ),
];

/** Returns the machine after a start, when its kubelet is about to post the new boot. */
const aboutToPost = ({ machine }: World): Machine => ({
  ...machine,
  power: 'running',
  boot: machine.boot + 1,
  kernel: machine.kernel + 1,
  started: assumed.bootToPost,
});

/** A person ends the fence with `release --accept`, at any moment. */
const accepted: readonly Scenario[] = [
  scenario('accepted', 'The machine is stopped, and a person ends the fence on their word.', { stops: 1, accepts: 1 }),
  ...everywhere(
    'left-parked-and-accepted',
    'A Node is parked. The machine is started and stopped again, and a person ends the fence on their word.',
    { starts: 1, stops: 1, accepts: 1 },
    { from: 'park' },
  ),
  scenario(
    'azure-torn-and-accepted',
    'Azure: a Node is parked, and a pod without a volume is on it. The machine is started, which its OS disk may show first, and stopped again. A person ends the fence on their word. At most 2 s pass.',
    { starts: 1, stops: 1, accepts: 1 },
    { cloud: azureTorn, from: 'park', but: { neighbor: 'bound', ticksLeft: 2 } },
  ),
  scenario(
    'left-parked-and-accepted-at-the-post',
    'A Node is parked, and a pod without a volume is on it. The machine runs again, and is stopped. A person ends the fence on their word, while the kubelet posts its boot.',
    { stops: 1, accepts: 1 },
    { from: 'park', but: (parked) => ({ neighbor: 'bound', machine: aboutToPost(parked) }) },
  ),
];

const RESUMES = 'It may resume, and be hibernated again.';
const maybeAgain: Partial<Budget> = { starts: 1, hibernations: 1 };

/** A person states that a hibernated machine is off (`assertOff`), at any moment at which it is. */
const vouched: readonly Scenario[] = [
  scenario(
    'vouched',
    `The machine is hibernated, and a person states that it is off. ${RESUMES}`,
    { ...maybeAgain, vouches: 1 },
    { from: 'hibernated', policy: acceptsVouching },
  ),
  scenario(
    'vouched-and-refused',
    'The machine is hibernated, and a person states that it is off, although the configuration does not allow it.',
    { vouches: 1 },
    { from: 'hibernated' },
  ),
];

/** The same on other clouds, and where the run of that person died right after the mark. */
const vouchedElsewhere: readonly Scenario[] = [
  scenario(
    'azure-vouched',
    'The same on Azure.',
    { ...maybeAgain, vouches: 1 },
    { from: 'hibernated', policy: acceptsVouching, cloud: azureManaged },
  ),
  scenario(
    'google-vouched',
    'The same on Google Cloud.',
    { ...maybeAgain, vouches: 1 },
    { from: 'hibernated', policy: acceptsVouching, cloud: gce },
  ),
  scenario(
    'left-vouched',
    `A run for a person who stated that a hibernated machine is off died right after the mark. ${RESUMES}`,
    maybeAgain,
    { from: 'vouched', policy: acceptsVouching },
  ),
];

/** The ledger counts each boot of the machine. */
const countedBoots: readonly Scenario[] = [
  scenario(
    'cap-and-restart',
    'The machine is off, and is started and stopped again. The ledger counts each boot. No second passes.',
    { starts: 1, stops: 1 },
    { from: 'off', but: { cap: 'by boot', ticksLeft: 0 } },
  ),
];

/** Reads that take time: any time passes between a question, its answer, and the moment at which a run receives it. */
const slowReads: readonly Scenario[] = [
  scenario(
    'slow-machine',
    'The machine is off and is started, and the reads of the machine take time.',
    { starts: 1 },
    { from: 'off', slow: new Set(['machine']) },
  ),
  scenario(
    'azure-slow-second-read',
    'Azure: the guest shuts itself down, and the reads of the machine take time.',
    { shutdowns: 1 },
    { cloud: azureManaged, slow: new Set(['machine']) },
  ),
  scenario(
    'slow-recheck',
    'A run died right after the mark. A person removes the fence or our taint, and the last reads before a call take time.',
    { removals: 1 },
    { from: 'mark', slow: new Set(['recheck']) },
  ),
  scenario(
    'slow-cluster',
    'The machine is off, a person removes the fence or our taint, and the reads of the cluster take time.',
    { removals: 1 },
    { from: 'off', slow: new Set(['cluster']) },
  ),
  scenario(
    'slow-witness',
    'The cloud is asked where it knows no such machine. The kubelet is cut off, the machine may be stopped, and the question for its disk takes time.',
    { stops: 1, cuts: 1 },
    { but: { asked: 'elsewhere' }, slow: new Set(['witness']) },
  ),
  scenario(
    'slow-wrong-account',
    'The cloud is asked where it knows no such machine. The kubelet is cut off, the machine may be stopped, and all reads take time.',
    { stops: 1, cuts: 1 },
    { but: { asked: 'elsewhere' }, slow: new Set(['machine', 'cluster', 'recheck', 'witness']) },
  ),
];

/** Too large for a run of all scenarios, which ends within half an hour. `--scenario NAME` explores one. */
export const larger: readonly Scenario[] = [
  scenario('restart-and-cut-off', 'The machine is stopped and started again, and its kubelet is cut off.', {
    stops: 1,
    starts: 1,
    cuts: 1,
  }),
  scenario('restart-and-renewal', 'The machine is stopped and started again, and its kubelet renews its Lease.', {
    stops: 1,
    starts: 1,
    renewals: 1,
  }),
  scenario(
    'two-runs-left-marked',
    'A run died right after the mark. The machine is started, while two runs fence it or lift the mark.',
    { starts: 1 },
    { runs: 2, from: 'mark' },
  ),
  scenario(
    'power-off-and-restart',
    'The kubelet is cut off, the policy is to power the machine off, and somebody starts the machine.',
    { cuts: 1, starts: 1 },
    { policy: powersOff },
  ),
  scenario(
    'accepted-and-removed',
    'The machine is stopped, and people remove the fence or our taint, and end the fence on their word.',
    { stops: 1, accepts: 1, removals: 1 },
  ),
  scenario(
    'left-marked-and-accepted',
    'A run died right after the mark. The machine is started, and a person ends the fence on their word.',
    { starts: 1, accepts: 1 },
    { from: 'mark' },
  ),
  scenario(
    'two-runs-accepted',
    'A run died right after the mark. A person ends the fence on their word, while another run goes on with it.',
    { accepts: 1 },
    { runs: 2, from: 'mark' },
  ),
  scenario(
    'two-runs-left-parked-and-accepted',
    'A Node is parked. The machine is started and stopped again, and a person ends the fence on their word, while another run releases and fences it.',
    { starts: 1, stops: 1, accepts: 1 },
    { runs: 2, from: 'park' },
  ),
  scenario(
    'power-off-and-reconnect',
    'The kubelet is cut off and may reach the API server again, and the policy is to power the machine off.',
    { cuts: 1 },
    { policy: powersOff, but: { readyFor: longAgo(assumed) } },
  ),
  ...vouchedElsewhere,
  scenario(
    'two-runs-left-marked-and-restarted',
    'A run died right after the mark. The machine is started and stopped again, while two runs look. No second passes.',
    { starts: 1, stops: 1 },
    { runs: 2, from: 'mark', but: (world) => ({ ...datedLongAgo(world), ticksLeft: 0, offSinceMark: true }) },
  ),
  scenario(
    'slow-survey',
    'The kubelet is cut off, the policy is to power the machine off, another Node registers that may be its own, and the survey of all Nodes takes time.',
    { cuts: 1, claims: 1 },
    { policy: powersOff, slow: new Set(['survey-connectivity']) },
  ),
];

/**
 * Other events: runs begin, are killed or frozen at any moment, and time passes. The largest scenarios come first, so
 * that none runs alone at the end.
 */
export const scenarios: readonly Scenario[] = [
  ...changedRecords,
  ...twoRuns,
  ...twoRunsFromHealth,
  ...twoPods,
  ...machines.toReversed(),
  ...leftFences,
  ...clouds,
  ...askedElsewhere,
  ...unknownAfterwards,
  ...reusedNodes,
  ...deletedNodes,
  ...laterOnClouds,
  ...afterTheMark,
  ...withPolicies,
  ...imagined,
  ...people,
  ...accepted,
  ...vouched,
  ...countedBoots,
  ...slowReads,
];

/** A restart in which one term of the assumption does not hold, and what that breaks. */
const broken = (name: string, says: string, breaks: Story['breaks'], term: Partial<Assumption>) => ({
  breaks,
  scenario: scenario(
    name,
    `The machine is stopped and started again, and ${says}.`,
    { stops: 1, starts: 1 },
    { assumption: { ...assumed, ...term } },
  ),
});

/** Each term of the assumption, changed until something breaks. */
export const brokenAssumptions = [
  broken('mounts-early', 'its kubelet mounts before a proof has expired everywhere', 'one-writer', {
    bootToMount: 2,
    postsBootFirst: false,
  }),
  broken('says-off-for-long', 'the cloud says off for 3 s after the start', 'one-writer', { staleness: 3 }),
  broken('long-on-its-way', 'a call is on its way for 4 s', 'one-writer', { transit: 4 }),
  broken('posts-early', 'its kubelet posts the new boot while the cloud still says off', 'recovery', { bootToPost: 0 }),
] as const;
