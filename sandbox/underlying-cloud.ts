import type { World } from './world.ts';

/** The result of a driver's call: done, in progress (call again), or failed with a message. */
export type DriverAnswer = 'done' | 'pending' | { readonly error: string };

/**
 * The cloud for kubelets, CSI drivers, and the cloud controller. The cluster half of the
 * sandbox knows only this; each cloud half implements it over its own state.
 */
export interface UnderlyingCloud<Parts> {
  /** CSI driver whose volumes live in this cloud, such as `ebs.csi.aws.com`. */
  readonly driver: string;
  /** Whether the guest executes instructions. True until the guest has really stopped, also during the shutdown. */
  readonly guestAlive: (world: World<Parts>, machine: string) => boolean;
  /** Whether the guest is shutting down. Omitted for a cloud that does not report it. */
  readonly guestStopping?: (world: World<Parts>, machine: string) => boolean;
  /** Differs after each boot of the guest; the kubelet derives its bootID from it. */
  readonly bootOf: (world: World<Parts>, machine: string) => string;
  /** The questions of a cloud controller manager. */
  readonly existence: (world: World<Parts>, machine: string) => 'exists' | 'shut-down' | 'gone';
  /** ControllerPublishVolume and ControllerUnpublishVolume. They are called again while they return `pending`. */
  readonly publish: (world: World<Parts>, handle: string, machine: string) => DriverAnswer;
  readonly unpublish: (world: World<Parts>, handle: string, machine: string) => DriverAnswer;
  /** CreateVolume and DeleteVolume. A disk is deleted when nothing holds it. Returns the handle of the new disk. */
  readonly provision?: (world: World<Parts>, zone: string) => string;
  readonly deprovision?: (world: World<Parts>, handle: string) => void;
  /** The guest mounts or unmounts an attached disk. If a mounted disk is detached, this is recorded as a violation. */
  readonly mount: (world: World<Parts>, handle: string, machine: string) => boolean;
  readonly unmount: (world: World<Parts>, handle: string, machine: string) => void;
}
