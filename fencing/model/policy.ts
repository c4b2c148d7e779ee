/** What the people who run a cluster decide. All times are in ms. */
export interface Policy {
  /** The reason for which everything is paused, or null. */
  readonly paused: string | null;
  /**
   * True if this one request asks for a dry run: Cloudfence looks, decides, and reports, but writes nothing at all. It
   * counts more than `shadow`.
   */
  readonly dryRun: boolean;
  /**
   * How the install works: look, decide, and report, but begin nothing. What an earlier fence left on a Node is still
   * removed, because it would harm a machine that runs.
   */
  readonly shadow: boolean;
  /** How long a machine has to be off before Cloudfence fences it. This leaves time for planned stops and starts. */
  readonly fenceAfter: number;
  /** When Cloudfence detaches a disk through the cloud: only if Kubernetes does not finish, at once, or not at all. */
  readonly detach: 'when-stuck' | 'always' | 'never';
  readonly deleteNode: 'when-terminated' | 'always' | 'never';
  /** What to do with a machine that runs while its Node is unreachable. */
  readonly unreachable: 'report' | 'power-off';
  /**
   * Which opt-outs count: those of Nodes and of their Pods (`pods`), those of Nodes by a label that only administrators
   * can write (`nodes`), or none (`none`).
   */
  readonly optOut: 'pods' | 'nodes' | 'none';
  /** Whether a person's statement may replace a proof that no cloud can give. */
  readonly vouching: 'refused' | 'accepted';
  /**
   * How much of a cluster may be fenced within the window, finished or not (`share`), and how much of it may be
   * unfinished at a time (`atOnce`). Both are shares of all Nodes and never amount to less than one Node.
   */
  readonly cap: { readonly share: number; readonly atOnce: number };
}

/** Returns whether Cloudfence begins nothing: in a dry run, and in shadow mode. */
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

/** Times that are part of the protocol and of no policy (ms). */
export const timing = {
  /** The time between two reads of a state that is proof only if repeated. */
  secondRead: 5_000,
  /**
   * A Lease that looks later than the power-off gets a second look after this time: two renewals of a living kubelet.
   */
  lateLease: 20_000,
  /**
   * A kubelet that has not renewed its Lease for this long is silent. If the cloud does not know a machine, the
   * machine's kubelet has to be silent.
   */
  silent: 60_000,
  /**
   * Disks of a machine that was just deleted may name it for this long. Some clouds clean up after they answer.
   */
  disksLetGo: 60_000,
  /** A VolumeAttachment that no pod wants may remain for this long before Cloudfence deletes it. */
  attachmentLingers: 3_000,
  /** Kubernetes has this long to detach a disk before Cloudfence asks the cloud to do so. */
  detachStuck: 10_000,
  /** The same limit once the driver has reported that its detach failed, or Kubernetes takes the disk for detached. */
  detachFailed: 2_000,
  /** A plain detach has this long before Cloudfence forces it. */
  plainDetach: 20_000,
  /** The time between two nudges of the same attacher. */
  nudge: 3_000,
  /** A fence that was begun longer ago than this no longer counts for the cap, finished or not. */
  capWindow: 15 * 60_000,
  /**
   * A fence that was entered longer ago than this shows in the cluster: as a mark, as a stale Lease, or as attachments
   * to a Node that is gone.
   */
  fenceShows: 2 * 60_000,
  /** An override of the cap is for an incident. One that ends later than this is a mistake and does not count. */
  longestCapOverride: 24 * 3_600_000,
  /** Our own clocks may differ by this much. A time that lies further ahead was not written by Cloudfence. */
  clocksDiffer: 60_000,
  /** A machine that is `stopping` for longer than this is an alarm. */
  stopping: 10 * 60_000,
  /**
   * A stop that was noted longer ago than this may be an earlier one. That stop may have failed, and no run saw the
   * machine run on.
   */
  stoppingNoted: 60 * 60_000,
  /** A Node must have been NotReady for this long before its running machine may be powered off. */
  unreachable: 5 * 60_000,
  /**
   * A kubelet that renewed its Lease once after the proof has to be silent for this long before the fence continues.
   */
  silence: 10 * 60_000,
  /** A kubelet renews its Lease every 10 s and has 40 s to do so. */
  leaseFresh: 40_000,
  /** Controllers act on a cached taint for a while after it was removed (kubernetes/kubernetes#142331). */
  settle: 30_000,
  /**
   * Facts about the cluster that are older than this are no longer used. A process that was frozen reads them again
   * first.
   */
  clusterFacts: 5_000,
  /**
   * A survey of the other Nodes counts for this long from when it was requested. A process that was frozen makes another
   * one before it powers a machine off.
   */
  survey: 30_000,
  /** The shortest and the longest time between two looks at something that goes away by itself. */
  pollShortest: 250,
  /** The longest time between two questions after one object, and between two looks that cost little. */
  pollLongest: 2_000,
  /** While only attachments are awaited, the machine is asked again after this time. */
  askMachine: 5_000,
  /** While only attachments are awaited, everything is read again after this time. */
  lookAgain: 10_000,
  /** The longest time between two looks at something that goes away by itself, whatever a look costs. */
  lookLongest: 45_000,
} as const;
