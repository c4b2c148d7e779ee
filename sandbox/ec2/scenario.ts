import { beginStop, change, releaseBusy, terminate } from './instances.ts';
import { put, write } from '../history.ts';
import type { Attachment, Ec2World, Instance, Volume } from './state.ts';
import { instanceIn, nextSerial } from './state.ts';

/** Changes that tests and demos make to the cloud without its API. */

const domainOf = (region: string): string => (region === 'us-east-1' ? 'ec2.internal' : `${region}.compute.internal`);

const addRootDisk = (world: Ec2World, { id, zone, rootDevice }: Instance): string =>
  addVolume(world, { zone }, { instance: id, device: rootDevice, deleteOnTermination: true });

/** Adds a machine with its root disk, as if it had always existed. It runs by default. Returns its id. */
export const addInstance = (world: Ec2World, wanted: Partial<Instance> = {}): string => {
  const { ec2 } = world.parts;
  const serial = nextSerial(ec2);
  const address = [10, 0, Math.floor(ec2.serial / 200), (ec2.serial % 200) + 10];
  const instance: Instance = {
    id: `i-${serial.padStart(17, '0')}`,
    reservation: `r-${serial.padStart(17, '0')}`,
    state: 'running',
    launchTime: world.now(),
    stateReason: null,
    transitionReason: '',
    type: 'm6i.large',
    zone: `${ec2.region}a`,
    privateIp: address.join('.'),
    privateDnsName: `ip-${address.join('-')}.${domainOf(ec2.region)}`,
    rootDevice: '/dev/xvda',
    tags: {},
    canHibernate: false,
    spot: false,
    managed: false,
    onShutdown: 'stop',
    hibernating: false,
    shutdownTakes: ec2.knobs.shutdownTakes,
    guest: wanted.state === 'stopped' || wanted.state === 'pending' || wanted.state === 'terminated' ? 'down' : 'up',
    boot: 1,
    mounts: [],
    ...wanted,
  };
  put(ec2.instances, instance.id, instance);
  if (instance.state !== 'terminated') addRootDisk(world, instance);
  return instance.id;
};

/** Adds a disk, as if it had always existed, and attaches it if requested. Returns its id. */
export const addVolume = (
  world: Ec2World,
  wanted: Partial<Volume> = {},
  attached?: Partial<Attachment> & Pick<Attachment, 'instance'>,
): string => {
  const { ec2 } = world.parts;
  const attachment: Attachment = {
    instance: '',
    device: `/dev/xvdb${String.fromCharCode(97 + (ec2.serial % 26))}`,
    state: 'attached',
    at: world.now(),
    deleteOnTermination: false,
    forced: false,
    ...attached,
  };
  const volume: Volume = {
    id: `vol-${nextSerial(ec2).padStart(17, '0')}`,
    zone: `${ec2.region}a`,
    multiAttach: false,
    managed: false,
    tags: {},
    createdAt: world.now(),
    attachments: attached ? [attachment] : [],
    ...wanted,
  };
  put(ec2.volumes, volume.id, volume);
  return volume.id;
};

const known = (world: Ec2World, id: string): Instance => {
  const instance = instanceIn(world, id);
  if (!instance) throw new Error(`the sandbox has no instance ${id}`);
  return instance;
};

/** Runs `poweroff` in the machine. */
export const stopGuest = (world: Ec2World, id: string): void => {
  const instance = known(world, id);
  if (instance.state !== 'running') return;
  if (instance.onShutdown === 'terminate') terminate(world, instance);
  else
    beginStop(
      world,
      instance,
      {
        code: 'Client.InstanceInitiatedShutdown',
        message: 'Client.InstanceInitiatedShutdown: Instance initiated shutdown',
      },
      '',
    );
};

/** Stops the guest without EC2 noticing, as a kernel panic or `halt` does. */
export const haltGuest = (world: Ec2World, id: string): void => {
  change(world, known(world, id), { guest: 'down', mounts: [] });
  releaseBusy(world, id);
};

/** EC2 stops the machine by itself, for example for `Server.ScheduledStop`. */
export const stopOutOfBand = (world: Ec2World, id: string, code: string): void => {
  const instance = known(world, id);
  if (instance.state === 'running') beginStop(world, instance, { code, message: `${code}: Instance stopped` }, '');
};

/** Sets how long this machine takes to shut down (ms). Null means forever, unless the stop is forced. */
export const shutdownTakes = (world: Ec2World, id: string, ms: number | null): void => {
  change(world, known(world, id), { shutdownTakes: ms });
};

/** Makes EC2 forget the machine immediately. */
export const forget = (world: Ec2World, id: string): void => write(world.parts.ec2.instances, id, null, world.now());
