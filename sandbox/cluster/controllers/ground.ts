import type { DriverAnswer, Underlay } from '../../underlay.ts';
import type { World } from '../../world.ts';

/** The cloud of the cluster, bound to one world, so that controllers see nothing else of the world. */
export interface Ground {
  readonly guestAlive: (machine: string) => boolean;
  readonly guestStopping: (machine: string) => boolean;
  readonly bootOf: (machine: string) => string;
  readonly existence: (machine: string) => 'exists' | 'shut-down' | 'gone';
  readonly publish: (handle: string, machine: string) => DriverAnswer;
  readonly unpublish: (handle: string, machine: string) => DriverAnswer;
  readonly mount: (handle: string, machine: string) => boolean;
  readonly unmount: (handle: string, machine: string) => void;
}

export const groundOf = <Parts>(underlay: Underlay<Parts>, world: World<Parts>): Ground => ({
  guestAlive: (machine) => underlay.guestAlive(world, machine),
  guestStopping: (machine) => underlay.guestStopping?.(world, machine) ?? false,
  bootOf: (machine) => underlay.bootOf(world, machine),
  existence: (machine) => underlay.existence(world, machine),
  publish: (handle, machine) => underlay.publish(world, handle, machine),
  unpublish: (handle, machine) => underlay.unpublish(world, handle, machine),
  mount: (handle, machine) => underlay.mount(world, handle, machine),
  unmount: (handle, machine) => underlay.unmount(world, handle, machine),
});
