import type { DriverAnswer, UnderlyingCloud } from '../../underlying-cloud.ts';
import type { World } from '../../world.ts';

/** The cloud of the cluster, bound to one world, so that controllers see nothing else of the world. */
export interface CloudView {
  readonly guestAlive: (machine: string) => boolean;
  readonly guestStopping: (machine: string) => boolean;
  readonly bootOf: (machine: string) => string;
  readonly existence: (machine: string) => 'exists' | 'shut-down' | 'gone';
  readonly publish: (handle: string, machine: string) => DriverAnswer;
  readonly unpublish: (handle: string, machine: string) => DriverAnswer;
  readonly mount: (handle: string, machine: string) => boolean;
  readonly unmount: (handle: string, machine: string) => void;
}

export const cloudViewOf = <Parts>(underlying: UnderlyingCloud<Parts>, world: World<Parts>): CloudView => ({
  guestAlive: (machine) => underlying.guestAlive(world, machine),
  guestStopping: (machine) => underlying.guestStopping?.(world, machine) ?? false,
  bootOf: (machine) => underlying.bootOf(world, machine),
  existence: (machine) => underlying.existence(world, machine),
  publish: (handle, machine) => underlying.publish(world, handle, machine),
  unpublish: (handle, machine) => underlying.unpublish(world, handle, machine),
  mount: (handle, machine) => underlying.mount(world, handle, machine),
  unmount: (handle, machine) => underlying.unmount(world, handle, machine),
});
