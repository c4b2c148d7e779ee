import type { DiskId } from '../../fencing/model/machine.ts';
import type {
  AttachmentView,
  DiskView,
  EventView,
  NodeLocation,
  ObjectName,
  PodView,
  PvcView,
  ReadResult,
  VolumeView,
} from './facts.ts';

/** Facts about what is stuck without a pod that waits: claims, volumes, attachments, and pods that do not exist. */

/** A claim or a PersistentVolume that no pod uses. */
export interface StorageFacts {
  /** Null if there is only a volume. */
  readonly claim: PvcView | null;
  /** Null if the claim is not bound, or if its volume is missing. */
  readonly volume: VolumeView | null;
  readonly volumeEvents: readonly EventView[];
  /** Pods that name the claim and have ended. They still prevent the deletion of the claim. */
  readonly ended: readonly PodView[];
  /** The attachments of the volume. */
  readonly attachments: readonly AttachmentView[];
  /** Epoch ms. */
  readonly now: number;
}

/** An attachment that does not go, and for which no pod waits. */
export interface DetachFacts {
  readonly attachment: AttachmentView;
  readonly volume: ReadResult<VolumeView>;
  readonly location: NodeLocation;
  readonly disk: ReadResult<DiskView>;
  readonly diskId: DiskId | null;
  /** Epoch ms. */
  readonly now: number;
}

/** A workload whose pods have claims, and that has fewer pods than it should have. */
export interface ShortWorkloadView extends ObjectName {
  readonly kind: 'StatefulSet' | 'Deployment' | 'Job';
  readonly uid: string;
  /** The names that its pods have, in order. Only the pods of a StatefulSet have fixed names. */
  readonly podNames: readonly string[];
  /** The names of its claim templates. */
  readonly claimTemplates: readonly string[];
  /** Whether it creates each pod only after the one before it is ready. */
  readonly ordered: boolean;
  /** Why no pod can be created, according to its status. Null if only events say so. */
  readonly refused: EventView | null;
}

/** A pod that its workload has not created. */
export interface MissingPodFacts {
  readonly workload: ShortWorkloadView;
  /** The name of the pod. Null if its workload does not know the name in advance. */
  readonly missing: string | null;
  /** The pod that has to be ready before. Null if there is none. */
  readonly predecessor: PodView | null;
  /** A claim with the name that the pod needs, which is being deleted. */
  readonly claimGoing: PvcView | null;
  /** Why the API server refused the pod or its claim. */
  readonly refused: EventView | null;
  /** Epoch ms. */
  readonly now: number;
}
