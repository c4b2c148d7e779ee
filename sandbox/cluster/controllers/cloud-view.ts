import type { DriverAnswer, UnderlyingCloud } from '../../underlying-cloud.ts';
import type { World } from '../../world.ts';

/** The cloud of the cluster, bound to one world, so that controllers see nothing else of the world. */
export interface CloudView {
  readonly driver: string;
  readonly guestAlive: (machine: string) => boolean;
  readonly guestStopping: (machine: string) => boolean;
  readonly bootOf: (machine: string) => string;
  readonly existence: (machine: string) => 'exists' | 'shut-down' | 'gone';
  readonly publish: (handle: string, machine: string) => DriverAnswer;
  readonly unpublish: (handle: string, machine: string) => DriverAnswer;
  readonly mount: (handle: string, machine: string) => boolean;
  /** Null for a cloud that does not create disks. */
  readonly provision: ((zone: string) => string) | null;
  readonly deprovision: (handle: string) => void;
  readonly unmount: (handle: string, machine: string) => void;
}

export const cloudViewOf = <Parts>(underlying: UnderlyingCloud<Parts>, world: World<Parts>): CloudView => ({
  driver: underlying.driver,
  guestAlive: (machine) => underlying.guestAlive(world, machine),
  guestStopping: (machine) => underlying.guestStopping?.(world, machine) ?? false,
  bootOf: (machine) => underlying.bootOf(world, machine),
  existence: (machine) => underlying.existence(world, machine),
  publish: (handle, machine) => underlying.publish(world, handle, machine),
  unpublish: (handle, machine) => underlying.unpublish(world, handle, machine),
  mount: (handle, machine) => underlying.mount(world, handle, machine),
  provision: underlying.provision ? (zone) => underlying.provision?.(world, zone) ?? '' : null,
  deprovision: (handle) => underlying.deprovision?.(world, handle),
  unmount: (handle, machine) => underlying.unmount(world, handle, machine),
});
