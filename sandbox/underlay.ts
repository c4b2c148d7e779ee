import type { World } from './world.ts';

/** What a cloud driver's call came to: it is over, goes on (ask again), or failed with a message. */
export type DriverAnswer = 'done' | 'pending' | { readonly error: string };

/**
 * The cloud below the cluster, as kubelets, CSI drivers and the cloud controller meet it. The cluster half of the
 * sandbox knows only this; each cloud half implements it over its own state.
 */
export interface Underlay<Parts> {
  /** CSI driver whose volumes live in this cloud, such as `ebs.csi.aws.com`. */
  readonly driver: string;
  /** The guest executes instructions: true while running and while shutting down, until it really stops. */
  readonly guestAlive: (world: World<Parts>, machine: string) => boolean;
  /** The guest is shutting down, still alive; a cloud that does not tell leaves this out. */
  readonly guestStopping?: (world: World<Parts>, machine: string) => boolean;
  /** Differs after each boot of the guest; the kubelet derives its bootID from it. */
  readonly bootOf: (world: World<Parts>, machine: string) => string;
  /** What a cloud controller manager asks. */
  readonly existence: (world: World<Parts>, machine: string) => 'exists' | 'shut-down' | 'gone';
  /** ControllerPublishVolume and ControllerUnpublishVolume: called again until they answer other than `pending`. */
  readonly publish: (world: World<Parts>, handle: string, machine: string) => DriverAnswer;
  readonly unpublish: (world: World<Parts>, handle: string, machine: string) => DriverAnswer;
  /**
   * The guest mounts or unmounts a disk that is attached to it; a disk taken from under a mount is harm, and is noted.
   */
  readonly mount: (world: World<Parts>, handle: string, machine: string) => boolean;
  readonly unmount: (world: World<Parts>, handle: string, machine: string) => void;
}
