import type { Story } from './story.ts';

/**
 * Changes of the shipped code that make it unsafe, or that leave something behind. The exploration has to find a
 * schedule for each: that shows that the guard is needed, and that the exploration sees what the guard prevents.
 */
export interface Variant {
  /** What the variant does wrong. */
  readonly says: string;
  readonly file: string;
  /** Text that stands once in the file, and what replaces it. */
  readonly from: string;
  readonly to: string;
  /** The scenario that shows it, and what it breaks there. */
  readonly scenario: string;
  readonly breaks: Story['breaks'];
}

/** A rule of the ladder that is left out. */
const without = (rule: string, scenario: string, breaks: Story['breaks']): Variant => ({
  says: `the rule ${rule} is left out`,
  file: 'fencing/rules/decide.ts',
  from: `\n  ${rule}, //`,
  to: '\n  //',
  scenario,
  breaks,
});

const edited = (
  says: string,
  file: string,
  [from, to]: readonly [string, string],
  scenario: string,
  breaks: Story['breaks'],
): Variant => ({ says, file, from, to, scenario, breaks });

export const variants: readonly Variant[] = [
  without('liftMark', 'restart', 'taint-off-a-running-machine'),
  without('running', 'stop', 'act-under-proof'),
  without('stopping', 'stop', 'act-under-proof'),
  without('releaseReturned', 'left-parked', 'recovery'),
  without('removedByHand', 'removed', 'removed-stays-removed'),
  without('parkNode', 'stop', 'recovery'),
  without('deleteNode', 'terminate', 'recovery'),
  edited(
    'EC2 counts a stopping machine as off',
    'providers/aws/power.ts',
    ["      return alive('stopping');", "      return alive('off');"],
    'stop',
    'act-under-proof',
  ),
  edited(
    'EC2 counts a starting machine as off',
    'providers/aws/power.ts',
    ["      return alive('starting');", "      return alive('off');"],
    'restart',
    'act-under-proof',
  ),
  edited(
    'Azure counts a deallocating machine as off',
    'providers/azure/power.ts',
    ["    case 'deallocating':\n      return 'stopping';", "    case 'deallocating':\n      return 'off';"],
    'azure-stop',
    'act-under-proof',
  ),
  edited(
    'Google counts a stopping machine as off',
    'providers/gcp/power.ts',
    ["    case 'SUSPENDING':\n      return 'stopping';", "    case 'SUSPENDING':\n      return 'off';"],
    'google-stop',
    'act-under-proof',
  ),
  edited(
    'EC2 counts a running machine as off',
    'providers/aws/power.ts',
    ["      return alive('running');", "      return alive('off');"],
    'stop',
    'act-under-proof',
  ),
  edited(
    'a proof lasts for five seconds',
    'fencing/model/permit.ts',
    ['PROOF_LASTS_MS = 2_000', 'PROOF_LASTS_MS = 5_000'],
    'restart',
    'act-under-proof',
  ),
  edited(
    'a call may leave two seconds after the decision, however old the proof is',
    'fencing/loop/next-command.ts',
    ['expires: machine.askedAt.mono + PROOF_LASTS_MS', 'expires: now.mono + PROOF_LASTS_MS'],
    'restart',
    'act-under-proof',
  ),
  edited(
    'a proof is never renewed before a call, and has no end',
    'fencing/loop/next-command.ts',
    ['expires: machine.askedAt.mono + PROOF_LASTS_MS', 'expires: Infinity'],
    'restart',
    'act-under-proof',
  ),
  edited(
    'a release does not wait for another boot',
    'fencing/rules/release.ts',
    ['  if (node.bootID === record.bootID) return', '  if (node.bootID === record.node) return'],
    'restart-and-renewal',
    'release-after-return',
  ),
  edited(
    'the Node of a stopped machine is deleted',
    'fencing/rules/finish.ts',
    ["  return forGood && policy.deleteNode === 'when-terminated'", "  return policy.deleteNode === 'when-terminated'"],
    'stop',
    'no-live-node-deleted',
  ),
  edited(
    'a machine is powered off although the policy is to report',
    'fencing/rules/running.ts',
    ["  if (view.policy.unreachable === 'report') {", "  if (view.policy.unreachable !== 'report') {"],
    'cut-off',
    'power-off-by-policy',
  ),
];
