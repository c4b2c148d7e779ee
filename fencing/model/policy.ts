/** The settings of the people who run a cluster. All times are in ms. */
export interface Policy {
  /** The reason why everything is paused, or null. */
  readonly paused: string | null;
  /**
   * True if this request asks for a dry run: Cloudfence looks, decides, and reports, but writes nothing. It takes
   * precedence over `shadow`.
   */
  readonly dryRun: boolean;
  /**
   * Shadow mode of the install: Cloudfence looks, decides, and reports, but begins no fence. It still removes what an
   * earlier fence left on a Node, because that would harm a machine that runs.
   */
  readonly shadow: boolean;
  /** How long a machine must be off before Cloudfence fences it. This leaves time for planned stops and starts. */
  readonly fenceAfter: number;
  /** When Cloudfence detaches a disk through the cloud: only if Kubernetes does not finish, always, or never. */
  readonly detach: 'when-stuck' | 'always' | 'never';
  readonly deleteNode: 'when-terminated' | 'always' | 'never';
  /** What Cloudfence does if a machine runs but its Node is unreachable. */
  readonly unreachable: 'report' | 'power-off';
  /**
   * Which opt-outs count: those of Nodes and Pods (`pods`), only the label of Nodes that only administrators can write
   * (`nodes`), or none (`none`).
   */
  readonly optOut: 'pods' | 'nodes' | 'none';
  /** Whether a person's statement may replace a proof that the cloud cannot give. */
  readonly vouching: 'refused' | 'accepted';
  /**
   * The share of a cluster that may be fenced within the window, including finished fences (`share`), and the share
   * that may be unfinished at the same time (`atOnce`). Both are shares of all Nodes, and allow at least one Node.
   */
  readonly cap: { readonly share: number; readonly atOnce: number };
}

/** Returns whether Cloudfence begins no fence: in a dry run, and in shadow mode. */
export const beginsNothing = ({ dryRun, shadow }: Pick<Policy, 'dryRun' | 'shadow'>): boolean => dryRun || shadow;

export const defaultPolicy: Policy = {
  paused: null,
  dryRun: false,
  shadow: false,
  fenceAfter: 0,
  detach: 'when-stuck',
  deleteNode: 'when-terminated',
  unreachable: 'report',
  optOut: 'pods',
  vouching: 'refused',
  cap: { share: 0.49, atOnce: 0.2 },
};

/** Times that belong to the protocol, not to a policy (ms). */
export const timing = {
  /**
   * The time between two reads of a state that is proof only if repeated. It must be longer than the time for which a
   * starting machine may show that state, plus the time for which an answer may be stale.
   */
  secondRead: 10_000,
  /**
   * If the time of a Lease is later than the power-off, Cloudfence takes a second look after this time: two renewals of
   * a living kubelet.
   */
  lateLease: 20_000,
  /**
   * A kubelet that has not renewed its Lease for this long is silent. This applies to a machine that the cloud does not
   * know.
   */
  silent: 60_000,
  /**
   * For this long, disks may still name a machine that was just deleted. Some clouds clean up after they have answered.
   */
  disksLetGo: 60_000,
  /** How long a VolumeAttachment that no pod uses may remain before Cloudfence deletes it. */
  attachmentLingers: 3_000,
  /** How long Kubernetes may take to detach a disk before Cloudfence asks the cloud to do so. */
  detachStuck: 10_000,
  /** The same limit after the driver has reported a failed detach, or after Kubernetes treats the disk as detached. */
  detachFailed: 2_000,
  /** How long a plain detach may take before Cloudfence forces it. */
  plainDetach: 20_000,
  /** The time between two nudges of the same attacher. */
  nudge: 3_000,
  /** A fence that began longer ago than this no longer counts against the cap, finished or not. */
  capWindow: 15 * 60_000,
  /**
   * After this time, a fence in the ledger must show in the cluster: as a mark, as a stale Lease, or as attachments to
   * a Node that is gone.
   */
  fenceShows: 2 * 60_000,
  /**
   * An override of the cap is meant for an incident. An override that ends later than this is a mistake, and does not
   * count.
   */
  longestCapOverride: 24 * 3_600_000,
  /**
   * The maximum difference between the clocks of Cloudfence's processes. Cloudfence cannot have written a time that
   * lies further in the future.
   */
  clocksDiffer: 60_000,
  /**
   * The maximum difference between the clock of a person's computer and those of the functions. A command does not
   * trust a time that another process has written until then, unless it has waited for the same time itself. A function
   * does not trust the time of a removal by a person until then.
   */
  personsClock: 10 * 60_000,
  /** A machine that is `stopping` for longer than this causes an alarm. */
  stopping: 10 * 60_000,
  /**
   * A stop that was noted longer ago than this may be an earlier one. That stop may have failed without any run
   * noticing it.
   */
  stoppingNoted: 60 * 60_000,
  /** A Node must have been NotReady for this long before its running machine may be powered off. */
  unreachable: 5 * 60_000,
  /**
   * If a kubelet renewed its Lease once after the proof, it must be silent for this long before the fence continues.
   */
  silence: 10 * 60_000,
  /** A kubelet renews its Lease every 10 s and has 40 s to do so. */
  leaseFresh: 40_000,
  /**
   * A person's statement counts only if the first answers about its fence and its boot arrive at most this long after
   * the command began. After that, another one may have begun. A machine that is started needs longer until its kubelet
   * posts its boot.
   */
  statement: 20_000,
  /** Controllers act on a cached taint for a while after its removal (kubernetes/kubernetes#142331). */
  settle: 30_000,
  /** Facts about the cluster that are older than this are not used. A process that was frozen reads them again. */
  clusterFacts: 5_000,
  /**
   * Facts about the cluster whose read took at least this long are not used. A process that was frozen before their
   * answer arrived reads them again.
   */
  clusterRead: 30_000,
  /**
   * How long a survey of the other Nodes is valid, counted from its request. A process that was frozen makes another
   * survey before it powers off a machine.
   */
  survey: 30_000,
  /** The shortest time between two looks while the run waits for something to disappear by itself. */
  pollShortest: 250,
  /** The longest time between two reads of one object, and between two cheap looks. */
  pollLongest: 2_000,
  /** While the run waits only for attachments, it reads the machine again after this time. */
  askMachine: 5_000,
  /** While the run waits only for attachments, it reads everything again after this time. */
  lookAgain: 10_000,
  /**
   * The longest time between two looks while the run waits for something to disappear by itself, even if a look is
   * expensive.
   */
  lookLongest: 45_000,
} as const;
