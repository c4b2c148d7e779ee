import type { Story } from './story.ts';

export interface Edit {
  readonly file: string;
  /** A text that is in the file exactly once, and its replacement. */
  readonly from: string;
  readonly to: string;
}

/**
 * Changes of the shipped code that make it unsafe, or that make it leave something behind. The exploration has to find
 * a schedule for each of them. That shows that the guard is needed, and that the exploration sees what the guard
 * prevents.
 */
export interface Variant {
  /** What the variant does wrong. */
  readonly says: string;
  readonly edits: readonly Edit[];
  /** The scenario that shows it, and what it breaks there. */
  readonly scenario: string;
  readonly breaks: Story['breaks'];
}

const withoutRule = (rule: string): Edit => ({
  file: 'fencing/rules/decide.ts',
  from: `\n  ${rule}, //`,
  to: '\n  //',
});

/** A rule of the ladder that is left out. */
const without = (rule: string, scenario: string, breaks: Story['breaks']): Variant => ({
  says: `the rule \`${rule}\` is left out`,
  edits: [withoutRule(rule)],
  scenario,
  breaks,
});

const edited = (
  says: string,
  file: string,
  [from, to]: readonly [string, string],
  scenario: string,
  breaks: Story['breaks'],
): Variant => ({ says, edits: [{ file, from, to }], scenario, breaks });

/** Guards of which any single one is enough. */
const together = (says: string, edits: readonly Edit[], scenario: string, breaks: Story['breaks']): Variant => ({
  says,
  edits,
  scenario,
  breaks,
});

const removed = ([from, to]: readonly [string, string]): Edit => ({ file: 'fencing/rules/removed.ts', from, to });

const release = (from: string): Edit => ({ file: 'fencing/rules/release.ts', from, to: '' });

export const variants: readonly Variant[] = [
  without('liftMark', 'restart', 'taint-off-a-running-machine'),
  without('running', 'stop', 'act-under-proof'),
  without('stopping', 'stop', 'act-under-proof'),
  without('releaseReturned', 'left-parked', 'recovery'),
  without('removedByHand', 'removed', 'removed-stays-removed'),
  without('liftForbiddenMark', 'left-marked-and-opted-out', 'recovery'),
  without('parkNode', 'stop', 'recovery'),
  without('deleteNode', 'terminate', 'recovery'),
  without('forgetStopping', 'restart', 'recovery'),
  edited(
    'a release does not check whether the machine runs',
    'fencing/rules/release.ts',
    ['if (!node || !record || !hasStarted(view)) return null;', 'if (!node || !record) return null;'],
    'restart',
    'recovery',
  ),
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
  without('secondReadPending', 'azure-torn', 'recovery'),
  edited(
    'Azure counts a deallocated machine as off although its OS disk is attached',
    'providers/azure/power.ts',
    [
      "      return isDeallocated(seen) ? 'off' : 'off-if-repeated';",
      "      return power === 'deallocated' ? 'off' : 'off-if-repeated';",
    ],
    'azure-torn',
    'recovery',
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
    'a call may leave until two seconds after the decision, even if the proof is older',
    'fencing/loop/next-command.ts',
    ['expires = machine.requestedAt.mono + PROOF_LASTS_MS', 'expires = now.mono + PROOF_LASTS_MS'],
    'restart',
    'act-under-proof',
  ),
  edited(
    'a proof is never renewed before a call, and never expires',
    'fencing/loop/next-command.ts',
    ['expires = machine.requestedAt.mono + PROOF_LASTS_MS', 'expires = Infinity'],
    'restart',
    'act-under-proof',
  ),
  edited(
    'a release does not wait for another boot',
    'fencing/rules/release.ts',
    ['  if (node.bootID === record.bootID) return', '  if (node.bootID === record.node) return'],
    'left-parked-and-renewed',
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
  without('paused', 'pause', 'pause-holds'),
  without('doubtfulPower', 'hibernate', 'act-under-word'),
  without('missingNeedsWitness', 'wrong-account', 'act-under-proof'),
  edited(
    'a disk counts as a witness although Kubernetes has detached it since the cluster was read',
    'fencing/loop/reduce.ts',
    ['cluster: null, memory: { ...state.memory, witness, testified', 'memory: { ...state.memory, witness, testified'],
    'left-marked-and-unknown',
    'act-under-proof',
  ),
  edited(
    'a disk counts as a witness although its attachment is gone by now',
    'fencing/rules/proof.ts',
    ['return mayHaveFreed(view) ? witnessesStay(view) : null;', 'return null;'],
    'left-marked-and-unknown',
    'act-under-proof',
  ),
  edited(
    'a disk that a fence may have freed counts as a witness if only the record of the fence is gone',
    'fencing/rules/identity.ts',
    ['!beganWithoutMachine(node.record) : hasOwnLabelOrTaint(node)', '!beganWithoutMachine(node.record) : false'],
    'left-marked-without-record-and-unknown',
    'no-live-node-deleted',
  ),
  edited(
    'our taint stays if the record is gone and the cloud does not know the machine',
    'fencing/rules/lift.ts',
    [
      "return power === 'missing' && (!isRecordKept(node) || hasNoWitness(view)) ?",
      'return node.record === undefined ?',
    ],
    'left-marked-without-record-and-unknown',
    'recovery',
  ),
  edited(
    'a fence whose record a kubelet has removed counts as removed by a person',
    'fencing/rules/removed.ts',
    ['    !lacksOnlyRecord(remembered, node);', '    true;'],
    'record-removed',
    'recovery',
  ),
  edited(
    'the Node of a machine that the cloud knew when the fence began is deleted',
    'fencing/rules/finish.ts',
    ['  if (mayBeBack(view))\n    return', '  if (false)\n    return'],
    'left-parked-and-unknown',
    'no-live-node-deleted',
  ),
  without('kubeletNotSilent', 'wrong-account', 'act-under-proof'),
  without('leaseContradicts', 'wrong-account', 'act-under-proof'),
  edited(
    'the guards before a fence begins are left out',
    'fencing/rules/decide.ts',
    ['\n  beforeItBegins(mayBegin), //', '\n  //'],
    'opt-out',
    'opt-out-holds',
  ),
  edited(
    'the cap is left out',
    'fencing/rules/decide.ts',
    ['\n  beforeItBegins(capReached),', '\n'],
    'cap',
    'cap-holds',
  ),
  edited(
    'EC2 counts a hibernated machine as off',
    'providers/aws/power.ts',
    ["return alive(mayBeHibernated(instance) ? 'suspended' : 'off');", "return alive('off');"],
    'hibernate',
    'act-under-word',
  ),
  edited(
    'Azure counts a hibernated machine as off',
    'providers/azure/power.ts',
    ["      if (mayBeHibernated(seen, power)) return 'suspended';\n", ''],
    'azure-hibernate',
    'act-under-word',
  ),
  edited(
    'Google counts a suspended machine as off',
    'providers/gcp/power.ts',
    ["      return 'suspended';", "      return 'off';"],
    'google-hibernate',
    'act-under-word',
  ),
  edited(
    'Google counts a running machine as off',
    'providers/gcp/power.ts',
    ["      return 'running';", "      return 'off';"],
    'google-stop',
    'act-under-proof',
  ),
  edited(
    'a park removes any out-of-service taint',
    'kubernetes/fence-patch.ts',
    ['(hasOwnTaint(node) ? removeTaintOps(node, OUT_OF_SERVICE) : [])', 'removeTaintOps(node, OUT_OF_SERVICE)'],
    'foreign-taint',
    'nothing-foreign-taken',
  ),
  edited(
    'the mark removes the labels of others',
    'kubernetes/node-patch.ts',
    ['  if (!node.metadata?.labels)\n', '  if (node.metadata?.labels)\n'],
    'stop',
    'nothing-foreign-taken',
  ),
  edited(
    'a park does not test the boot',
    'kubernetes/fence-patch.ts',
    [
      '  bootPrecondition(target),\n  ...taintPreconditions(node, [QUARANTINE]),',
      '  ...taintPreconditions(node, [QUARANTINE]),',
    ],
    'left-parked',
    'nothing-of-another-boot',
  ),
  edited(
    'a disk that is still attached counts as a witness that the machine is gone',
    'fencing/rules/proof.ts',
    ["    case 'held':\n      return stillHeld(view);", "    case 'held':\n      return null;"],
    'wrong-account',
    'act-under-proof',
  ),
  edited(
    'the Lease of the last read before a call is forgotten',
    'fencing/loop/reduce.ts',
    ['    cluster: { ...cluster, value: { ...cluster.value, lease: value.lease } },\n', ''],
    'wrong-account',
    'act-under-proof',
  ),
  edited(
    'our taint is lifted by a read of the machine that may be older than the mark',
    'fencing/rules/lift.ts',
    ['view.memory.markIsNew && !hasBootedSince(node)', 'Number.isNaN(0)'],
    'two-runs-and-termination',
    'lift-after-start',
  ),
  edited(
    'our taint is lifted only if the machine runs',
    'fencing/rules/lift.ts',
    ["new Set<Power>(['running', 'starting', 'stopping', 'suspended']);", "new Set<Power>(['running']);"],
    'hibernate-later',
    'taint-off-a-running-machine',
  ),
  edited(
    'our taint stays on a machine that is suspended to memory',
    'fencing/rules/lift.ts',
    ["'starting', 'stopping', 'suspended']);", "'starting', 'stopping']);"],
    'hibernate-later',
    'taint-off-a-running-machine',
  ),
  edited(
    'a power-off ignores the opt-out',
    'fencing/rules/running.ts',
    ['paused(view) ?? mayBegin(view);', 'paused(view);'],
    'power-off-and-guards',
    'opt-out-holds',
  ),
  edited(
    'a power-off ignores the cap',
    'fencing/rules/running.ts',
    [
      'powerOffForbidden(view, node) ?? capReached(view) ?? powerOffOnce',
      'powerOffForbidden(view, node) ?? powerOffOnce',
    ],
    'power-off-and-guards',
    'cap-holds',
  ),
  edited(
    'any machine that is off counts as gone for good',
    'fencing/rules/finish.ts',
    ["machine.forGood || machine.power === 'missing'", "machine.forGood || machine.power === 'off'"],
    'stop',
    'no-live-node-deleted',
  ),
  edited(
    'a power-off ignores that another Node claims the machine',
    'fencing/rules/running.ts',
    ['  if (namedElsewhere !== null) return refuseBecause(namedElsewhere);\n', ''],
    'power-off-and-claim',
    'unclaimed-power-off',
  ),
  edited(
    'a survey of the other Nodes never expires within a run',
    'fencing/rules/running.ts',
    ['connectivity && now.mono - connectivity.requestedAt < timing.survey ?', 'connectivity && now.mono > 0 ?'],
    'power-off-and-claim',
    'unclaimed-power-off',
  ),
  edited(
    'a Node that does not name its machine yet counts as no claim',
    'kubernetes/leases.ts',
    [' || (isNameless && hasTaint(node, UNINITIALIZED));', ';'],
    'power-off-and-claim',
    'unclaimed-power-off',
  ),
  edited(
    'a record that a kubelet has changed counts',
    'fencing/model/cluster-facts.ts',
    ['recordText !== null && unmatchedSeal !== null', 'recordText !== null && Number.isNaN(0)'],
    'left-marked-with-another-generation',
    'no-live-node-deleted',
  ),
  edited(
    'a record that a kubelet has changed counts, even if it says that a person vouches',
    'fencing/model/cluster-facts.ts',
    ['recordText !== null && unmatchedSeal !== null', 'recordText !== null && Number.isNaN(0)'],
    'left-marked-with-another-statement',
    'taint-off-a-running-machine',
  ),
  without('inUseAfterTermination', 'reused-node', 'act-under-proof'),
  without('bootContradicts', 'reused-parked-node', 'act-under-proof'),
  without('doubtfulIdentity', 'two-identities', 'act-under-proof'),
  without('leaseLooksLate', 'reused-node-of-a-stopped-machine', 'act-under-proof'),
  without('leaseContradicts', 'reused-node-of-a-stopped-machine', 'act-under-proof'),
  without('deleteLingeringAttachment', 'node-deleted', 'recovery'),
  edited(
    'a call may leave until two seconds after the answer about the machine, even if the answer took long',
    'fencing/loop/next-command.ts',
    ['expires = machine.requestedAt.mono + PROOF_LASTS_MS', 'expires = machine.receivedAt + PROOF_LASTS_MS'],
    'slow-machine',
    'act-under-proof',
  ),
  edited(
    'the age of a survey counts from its answer',
    'fencing/loop/reduce.ts',
    ['requestedAt: result.requestedAt.mono }', 'requestedAt: now.mono }'],
    'slow-survey-soon',
    'unclaimed-power-off',
  ),
  edited(
    "a kubelet's silence counts from the request for its Lease",
    'fencing/loop/reads.ts',
    ['leaseSince: receivedAt }', 'leaseSince: requestedAt.mono }'],
    'slow-wrong-account',
    'act-under-proof',
  ),
  edited(
    'a dry run acts',
    'fencing/loop/next-command.ts',
    ['if (policy.dryRun || !policy.shadow) return policy.dryRun;', 'if (!policy.shadow) return false;'],
    'dry-run',
    'only-imagines',
  ),
  edited(
    'shadow mode begins fences',
    'fencing/loop/next-command.ts',
    ['if (policy.dryRun || !policy.shadow) return policy.dryRun;', 'return policy.dryRun;'],
    'shadow',
    'only-imagines',
  ),
  edited(
    'in shadow mode, our taint stays on a machine that runs',
    'fencing/loop/next-command.ts',
    ['memory.sinceLook.size > 0 || !isOnlyCleanup(step, cluster?.value.node ?? null)', 'true'],
    'left-marked-in-shadow',
    'taint-off-a-running-machine',
  ),
  edited(
    'a release with --accept leaves no tombstone',
    'fencing/rules/release-by-hand.ts',
    ['isOver ? null : fenceInBoot(record.fence, record, record)', 'isOver ? null : null'],
    'accepted',
    'removed-stays-removed',
  ),
  edited(
    'a release with --accept takes one read of a state that a starting machine shows, too',
    'fencing/rules/release-by-hand.ts',
    ['  if (pending) return pending;\n', ''],
    'azure-torn-and-accepted',
    'removed-stays-removed',
  ),
  edited(
    'a release with --accept does not test the boot that its record names',
    'kubernetes/fence-patch.ts',
    ['        ...(endsPresentBoot(target, record) ? [bootPrecondition(target)] : []),\n', ''],
    'left-parked-and-accepted-at-the-post',
    'removed-stays-removed',
  ),
  edited(
    'the patch that removes a taint does not test which taint it removes',
    'kubernetes/node-patch.ts',
    ["[...tests, { op: 'remove', path } as const]", "[{ op: 'remove', path } as const]"],
    'slow-write-left-marked-and-removed',
    'release-after-return',
  ),
  edited(
    'a patch does not test the record that was read',
    'kubernetes/node-patch.ts',
    [
      '    ...(recordText === null ? [] : [test(RECORD_PATH, recordText)]),\n    isMissing ? testResourceVersion(node) : testSeal(seal),\n',
      '',
    ],
    'slow-write-two-runs-and-removed',
    'recovery',
  ),
  edited(
    'a release with --accept leaves a tombstone although the machine starts',
    'fencing/rules/release-by-hand.ts',
    ['hasEnded ? { bootID: ENDED }', "view.machine.power === 'running' ? { bootID: ENDED }"],
    'left-parked-and-accepted',
    'recovery',
  ),
  edited(
    'a release with --accept names the present boot if the record is lost, although the machine has started',
    'fencing/rules/release-by-hand.ts',
    ['hasEnded ? { bootID: ENDED }', 'hasEnded && view.cluster.node?.record ? { bootID: ENDED }'],
    'left-parked-with-another-phase-and-accepted',
    'recovery',
  ),
  together(
    'a removal by hand counts for each later boot',
    [
      removed([
        'node.tombstone && isOfThisBoot(node.tombstone, node, view.machine)',
        'node.tombstone && !Number.isNaN(0 * isOfThisBoot.length)',
      ]),
      withoutRule('removeTombstone'),
    ],
    'left-taken-back',
    'recovery',
  ),
  without('detachDisk', 'attacher-down', 'recovery'),
  edited(
    'the label of a fence stays after a person removed the rest, although the machine runs',
    'fencing/rules/release.ts',
    ['? fenceOfBareLabel(node) !== null', '? false'],
    'left-label',
    'recovery',
  ),
  edited(
    'a disk is detached although the policy is never to detach',
    'fencing/rules/volumes.ts',
    ["  if (view.policy.detach === 'never') return null;\n", ''],
    'never-detached',
    'detach-by-policy',
  ),
  without('mark', 'stop', 'mark-first'),
  edited(
    'a Node that is Ready counts as unreachable',
    'fencing/rules/running.ts',
    ["node.ready === 'True' ? 0 : now.wall", 'now.wall'],
    'power-off-and-reconnect-soon',
    'reachable-stays-on',
  ),
  without('vouchingRefused', 'vouched-and-refused', 'act-under-word'),
  edited(
    'a person’s statement that a machine is off applies to each boot that the cloud names',
    'fencing/rules/proof.ts',
    ['nodeShowsAnotherBoot(view) || cloudNamesAnotherBoot(view)', 'nodeShowsAnotherBoot(view)'],
    'vouched',
    'act-under-word',
  ),
  edited(
    'our taint stays on a machine that is hibernated again, because a person has vouched for an earlier hibernation',
    'fencing/rules/proof.ts',
    ['isVouchedForAnotherBoot(view) ? null : request.vouched', 'request.vouched'],
    'vouched',
    'taint-off-a-running-machine',
  ),
  edited(
    'what the cap has admitted counts for the next boot, too',
    'fencing/loop/reads.ts',
    ['isAdmittedBoot(memory, machine.value) ? {} : NOT_ASKED', '{}'],
    'cap-and-restart',
    'cap-holds',
  ),
  together(
    'a removed taint is not noticed, and the tombstone is ignored',
    [
      removed(['taintMissing(view, node) ?? fenceMissing(view, node) ??', 'fenceMissing(view, node) ??']),
      removed(['tombstoneOfThisBoot(view, node)', '(Number.isNaN(0) ? tombstoneOfThisBoot(view, node) : null)']),
    ],
    'removed',
    'removed-stays-removed',
  ),
  together(
    'a removed taint, a removed fence, and the traces of a removal are ignored',
    [
      removed([
        'taintMissing(view, node) ?? fenceMissing(view, node) ?? partMissing(view, node);',
        'null as Reason | null;',
      ]),
    ],
    'removed',
    'removed-stays-removed',
  ),
  edited(
    'a run forgets its fence if a person removes the whole fence',
    'fencing/loop/reads.ts',
    ['cluster.value.node?.record ?? state.record', 'cluster.value.node ? cluster.value.node.record : state.record'],
    'removed',
    'removed-stays-removed',
  ),
  edited(
    'the tombstone is ignored',
    'fencing/rules/removed.ts',
    ['= tombstoneOfThisBoot(view, node)', '= Number.isNaN(0) ? tombstoneOfThisBoot(view, node) : null'],
    'removed',
    'removed-stays-removed',
  ),
  edited(
    'our taint stays on a machine that runs while a person has paused Cloudfence',
    'fencing/rules/lift.ts',
    [
      '  if (!node?.taints.ours || isAnothers(view, node)) return null;',
      '  if (!node?.taints.ours || isAnothers(view, node) || view.cluster.surroundings.paused !== null) return null;',
    ],
    'left-marked-and-paused',
    'taint-off-a-running-machine',
  ),
  edited(
    'our taint stays on a machine that is stopping',
    'fencing/rules/lift.ts',
    ["'running', 'starting', 'stopping', 'suspended'", "'running', 'starting', 'suspended'"],
    'left-marked-and-stopping',
    'taint-off-a-running-machine',
  ),
  edited(
    'a tombstone ends the quarantine',
    'kubernetes/fence-patch.ts',
    [
      '        ...labelAfterFence(node, step.tombstone),\n      ];',
      '        ...labelAfterFence(node, step.tombstone),\n        ...removeTaintOps(node, QUARANTINE),\n      ];',
    ],
    'removed',
    'release-after-return',
  ),
  edited(
    'our taint is not recognized',
    'kubernetes/node-facts.ts',
    ['TAINTED = /^(.+)_in_([0-9a-z]{14})$/', 'TAINTED = /^(.+)_in_([0-9a-z]{15})$/'],
    'stop',
    'recovery',
  ),
  edited(
    'an opt-out does not count on a Node with a taint of someone else',
    'fencing/rules/decide.ts',
    [
      'isUnmarked(view) || hasWorkReturned(view) || view.cluster.node === null ? rule(view) : null;',
      '(isUnmarked(view) && view.cluster.node?.taints.outOfService !== true) || view.cluster.node === null ? rule(view) : null;',
    ],
    'foreign-taint-and-opt-out',
    'opt-out-holds',
  ),
  edited(
    'a dry run acts on an earlier fence',
    'fencing/loop/next-command.ts',
    [
      'if (policy.dryRun || !policy.shadow) return policy.dryRun;',
      'if (!policy.dryRun && !policy.shadow) return false;',
    ],
    'left-marked-and-dry-run',
    'only-imagines',
  ),
  edited(
    'shadow mode begins fences on Nodes that have an out-of-service taint',
    'fencing/model/steps.ts',
    [
      "    case 'park':\n      return node",
      "    case 'mark':\n      return !step.addOutOfService;\n    case 'park':\n      return node",
    ],
    'shadow-and-foreign-taint',
    'only-imagines',
  ),
  together(
    'a release waits neither for another boot, nor for a fresh Lease',
    [
      release(
        '  if (node.bootID === record.bootID) return unproven(`Node ${node.name} still shows the boot that was fenced`);\n',
      ),
      release('  if (!leaseIsFresh(view, record)) return whyLeaseProvesNothing(view, node, record);\n'),
    ],
    'restart',
    'release-after-return',
  ),
  together(
    'no Node is marked, so Kubernetes deletes no pod, and Cloudfence deletes no pod',
    [withoutRule('mark'), withoutRule('deletePods')],
    'stop',
    'recovery',
  ),
  together(
    'no Node is marked, so Kubernetes detaches nothing, and Cloudfence deletes no lingering attachment',
    [withoutRule('mark'), withoutRule('deleteLingeringAttachment')],
    'stop',
    'mark-first',
  ),
  together(
    'a run waits neither for pods, nor for attachments, nor for disks',
    ['waitForPods', 'waitForAttachments', 'waitForDisks'].map((rule) => ({
      file: 'fencing/rules/decide.ts',
      from: `\n  ${rule},`,
      to: '\n',
    })),
    'stop',
    'recovery',
  ),
];
