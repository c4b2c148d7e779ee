import { z } from 'zod';
import { asOf } from '../history.ts';
import { attach, detachAll } from './attachments.ts';
import { isForced } from './interface.ts';
import { deallocate, powerOff, remove, restart, start } from './machines.ts';
import { ArmRefusal, notFound } from './refusal.ts';
import { diskJson, machineJson, type Json } from './render.ts';
import type { AzureCloudWorld, Disk, Machine, Operation } from './state.ts';
import { diskIn, disksOf, machineIn } from './state.ts';

/** One call: the request, and its effect on the world. */
export interface Call {
  /** The path in lower case. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly origin: string;
}

export type Answered = { readonly body: Json } | { readonly operation: Operation };
export type Handler = (world: AzureCloudWorld, call: Call) => Answered;

/** ARM can answer from a cache. */
const seenAt = (world: AzureCloudWorld): number => world.now() - world.parts.azure.knobs.staleUpTo;

export const getMachine: Handler = (world, { path, query }) => {
  const machine = asOf(world.parts.azure.machines, path, seenAt(world));
  if (!machine) throw notFound(path);
  return {
    body: machineJson(
      machine,
      disksOf(world, path),
      world.parts.azure.location,
      query.get('$expand')?.toLowerCase() === 'instanceview',
    ),
  };
};

export const getDisk: Handler = (world, { path }) => {
  const disk = asOf(world.parts.azure.disks, path, seenAt(world));
  if (!disk) throw notFound(path);
  return { body: diskJson(world, disk) };
};

/** https://learn.microsoft.com/rest/api/compute/virtual-machine-scale-sets/get */
export const getSet: Handler = (world, { path }) => {
  const { azure } = world.parts;
  const name = azure.sets.find((set) => path.endsWith(`/${set.toLowerCase()}`));
  if (name === undefined) throw notFound(path);
  return {
    body: {
      name,
      id: path,
      type: 'Microsoft.Compute/virtualMachineScaleSets',
      location: azure.location,
      properties: { automaticRepairsPolicy: { enabled: azure.knobs.repairsInstances } },
    },
  };
};

export const listInstances: Handler = (world, { path, query, origin }) => {
  const { azure } = world.parts;
  const [, name = ''] = /\/virtualmachinescalesets\/([^/]+)\/virtualmachines$/.exec(path) ?? [];
  if (!azure.sets.some((set) => set.toLowerCase() === name)) throw notFound(path.replace(/\/virtualmachines$/, ''));
  const all = Object.values(azure.machines).flatMap(({ present }) =>
    present?.set?.name.toLowerCase() === name ? [present] : [],
  );
  const from = Number(query.get('$skiptoken') ?? 0);
  const next = from + azure.knobs.pageSize;
  const value = all
    .slice(from, next)
    .map((machine) => machineJson(machine, disksOf(world, machine.id), azure.location, false));
  return {
    body: {
      value,
      ...(next < all.length && {
        nextLink: `${origin}${path}?api-version=${query.get('api-version')}&$skiptoken=${next}`,
      }),
    },
  };
};

/** https://learn.microsoft.com/rest/api/authorization/permissions/list-for-resource */
export const listPermissions: Handler = (world, { path }) => {
  const id = path.replace(/\/providers\/microsoft\.authorization\/permissions$/, '');
  const { allowedActions } = world.parts.azure.knobs;
  if (allowedActions === null)
    throw new ArmRefusal(
      'AuthorizationFailed',
      `The client does not have authorization to perform action 'Microsoft.Authorization/permissions/read' ` +
        `over scope '${id}'.`,
      403,
    );
  if (!machineIn(world, id)) throw notFound(id);
  return { body: { value: [{ actions: [...allowedActions], notActions: [] }] } };
};

const target = (world: AzureCloudWorld, { path }: Call): Machine => {
  const id = path.replace(/(\/virtualmachines\/[^/]+)\/[^/]+$/, '$1');
  const machine = machineIn(world, id);
  if (!machine) throw notFound(id);
  return machine;
};

const flag = ({ query }: Call, name: string): boolean => query.get(name)?.toLowerCase() === 'true';

const diskOrder = z.object({ diskId: z.string(), detachOption: z.string().optional() });
const dataDisks = z.object({
  dataDisksToAttach: z.array(diskOrder).default([]),
  dataDisksToDetach: z.array(diskOrder).default([]),
});

const diskNamed = (world: AzureCloudWorld, id: string): Disk => {
  const disk = diskIn(world, id.toLowerCase());
  if (!disk) throw notFound(id);
  return disk;
};

/** The sandbox attaches one disk in one call. ARM attaches many. */
const attachDetach: Handler = (world, call) => {
  const order = dataDisks.safeParse(call.body);
  if (!order.success) throw new ArmRefusal('InvalidRequestContent', 'The request content was invalid.');
  const off = order.data.dataDisksToDetach;
  const forced = off.some(({ detachOption }) => isForced(detachOption));
  if (off.length > 0) {
    const disks = off.map(({ diskId }) => diskNamed(world, diskId));
    return { operation: detachAll(world, disks, target(world, call), forced) };
  }
  const [on] = order.data.dataDisksToAttach;
  if (on) return { operation: attach(world, diskNamed(world, on.diskId), target(world, call)) };
  throw new ArmRefusal('InvalidParameter', 'No disk is named.');
};

/** The operations on a machine, by the last part of the path in lower case, with the names that faults use. */
export const verbs: Readonly<Record<string, { readonly call: string; readonly handler: Handler }>> = {
  attachdetachdatadisks: { call: 'machine.attachDetachDataDisks', handler: attachDetach },
  deallocate: {
    call: 'machine.deallocate',
    handler: (world, call) => ({ operation: deallocate(world, target(world, call), flag(call, 'hibernate')) }),
  },
  poweroff: {
    call: 'machine.powerOff',
    handler: (world, call) => ({
      operation: powerOff(world, target(world, call), { skipShutdown: flag(call, 'skipShutdown') }),
    }),
  },
  restart: { call: 'machine.restart', handler: (world, call) => ({ operation: restart(world, target(world, call)) }) },
  start: { call: 'machine.start', handler: (world, call) => ({ operation: start(world, target(world, call)) }) },
};

export const deleteMachine: Handler = (world, call) => {
  const machine = machineIn(world, call.path);
  if (!machine) throw notFound(call.path);
  return { operation: remove(world, machine) };
};
