/** Every name under which logs and metrics speak: dashboards and alarms are written against these. */

export const metric = {
  /** One for each end of a run, by outcome. */
  outcomes: 'Outcomes',
  /** One for each refusal, by the code of its reason. */
  refusals: 'Refusals',
  /** One for each refusal by the cap: many machines vanished at once. A dry run does not count. */
  capReached: 'CapReached',
  /** One for each boot of a machine that a dry run, or shadow mode, would have fenced; the same for what it would have released. */
  wouldFence: 'WouldFence',
  wouldRelease: 'WouldRelease',
  /** One for each time that a cluster could not be asked, by a sweep or about an event. */
  clusterUnreachable: 'ClusterUnreachable',
  /** Machines that are proven off and whose fence is not finished, as a sweep found them. */
  deadNodeUnfenced: 'DeadNodeUnfenced',
  /** Messages that nobody could read. */
  notUnderstood: 'NotUnderstood',
  /** ms from the event to the first read that said off, and then from step to step. */
  eventToProof: 'EventToProof',
  proofToMark: 'ProofToMark',
  markToPodsGone: 'MarkToPodsGone',
  podsGoneToFenced: 'PodsGoneToFenced',
} as const;

export const dimension = { outcome: 'Outcome', reason: 'Reason' } as const;

/** Decisions of a log line that are no outcome of a run. */
export const decision = {
  step: 'step',
  notUnderstood: 'not-understood',
  aside: 'aside',
  lookAgain: 'look-again',
  handedToSweep: 'handed-to-sweep',
  foreign: 'foreign',
} as const;
