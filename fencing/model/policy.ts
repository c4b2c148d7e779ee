/** What the people who run a cluster decide; all times in ms. */
export interface Policy {
  /** The reason for which everything is paused, or null. */
  readonly paused: string | null;
  /** Look, decide and say, but write nothing. */
  readonly dryRun: boolean;
  /** Leaves planned stop/starts this long before a machine that is off is fenced. */
  readonly fenceAfter: number;
  /** When a disk is detached through the cloud: only if Kubernetes does not finish, at once, or not at all. */
  readonly detach: 'when-stuck' | 'always' | 'never';
  readonly deleteNode: 'when-terminated' | 'always' | 'never';
  /** What to do with a machine that runs while its Node is unreachable. */
  readonly unreachable: 'report' | 'power-off';
  /**
   * Whose opt-outs count: those of Nodes and of their Pods (`pods`), those of Nodes by a label that only administrators
   * can write (`nodes`), or nobody's (`none`).
   */
  readonly optOut: 'pods' | 'nodes' | 'none';
  /** Whether a person's word may stand in for a proof that no cloud can give. */
  readonly vouching: 'refused' | 'accepted';
  /**
   * How much of a cluster may be fenced within the window, finished or not, and how much of it may be unfinished at a
   * time: shares of all Nodes, never less than one.
   */
  readonly cap: { readonly share: number; readonly atOnce: number };
}

export const defaultPolicy: Policy = {
  paused: null,
  dryRun: false,
  fenceAfter: 0,
  detach: 'when-stuck',
  deleteNode: 'when-terminated',
  unreachable: 'report',
  optOut: 'pods',
  vouching: 'refused',
  cap: { share: 0.49, atOnce: 0.2 },
};

/** Times that are part of the protocol, not of anybody's policy (ms). */
export const patience = {
  /** Between two reads of a state that is proof only when repeated. */
  secondRead: 5_000,
  /**
   * A Lease that looks later than the power-off gets a second look after this long: two renewals of a living kubelet.
   */
  lateLease: 20_000,
  /**
   * A kubelet that has not renewed its Lease for so long is silent: a machine that its cloud does not know may have no
   * other.
   */
  silent: 60_000,
  /** Disks of a machine that was just deleted may go on naming it this long: some clouds tidy up behind the answer. */
  disksLetGo: 60_000,
  /** A VolumeAttachment that no pod wants may stand this long before it is deleted by hand. */
  attachmentLingers: 3_000,
  /** Kubernetes has this long to detach a disk before the cloud is asked to. */
  detachStuck: 10_000,
  /** The same once the driver has reported that its detach failed, or Kubernetes takes the disk for detached. */
  detachFailed: 2_000,
  /** A plain detach has this long before it is forced. */
  plainDetach: 20_000,
  /** Between two nudges of the same attacher. */
  nudge: 3_000,
  /** A fence begun longer ago than this no longer counts for the cap, finished or not. */
  capWindow: 15 * 60_000,
  /**
   * A lift of the cap is for an incident: one that ends later than this is a slip, or forgotten, and does not count.
   */
  longestLift: 24 * 3_600_000,
  /** So much may clocks of our own differ: whoever wrote a time that lies further ahead, it was not we. */
  clocksDiffer: 60_000,
  /** A machine that is `stopping` for longer is an alarm. */
  stopping: 10 * 60_000,
  /**
   * What was noted of a stop longer ago may be of an earlier one that failed, with nobody there to see the machine run
   * on.
   */
  stoppingNoted: 60 * 60_000,
  /** A Node must have been NotReady this long before its running machine may be powered off. */
  unreachable: 5 * 60_000,
  /** A kubelet that renewed its Lease once after the proof has to be silent this long before the fence goes on. */
  silence: 10 * 60_000,
  /** A kubelet renews its Lease every 10 s and is given 40 s. */
  leaseFresh: 40_000,
  /** Controllers act on a cached taint for a while after it was removed (kubernetes/kubernetes#142331). */
  settle: 30_000,
  /** Between two looks at something that goes by itself: the shortest and the longest. */
  pollShortest: 250,
  pollLongest: 2_000,
} as const;
