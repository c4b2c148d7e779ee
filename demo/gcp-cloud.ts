import { readHints } from '../providers/gcp/events/read-hints.ts';
import { gcpCloud } from '../providers/gcp/index.ts';
import { computeClients } from '../providers/gcp/client.ts';
import { instancePath } from '../providers/gcp/identity.ts';
import { createGceSandbox, type GceParts, SANDBOX_PROJECT, type WholeGceWorld } from '../sandbox/gce-sandbox.ts';
import { openGceServer } from '../sandbox/gce/gce-server.ts';
import { remove, start, stop } from '../sandbox/gce/instances.ts';
import { beginOperation } from '../sandbox/gce/operations.ts';
import { diskIn, type Instance, instanceIn, type InstanceStatus, type Operation } from '../sandbox/gce/state.ts';
import { gceDatabaseOnTwoNodes, nodeNameOf } from '../sandbox/scenes/gce-database.ts';
import { deployFunction, createPlatform } from './platform.ts';
import type { DemoCloud, RunCall, Machine } from './story.ts';

const powers: Readonly<Partial<Record<InstanceStatus, Machine['power']>>> = { RUNNING: 'running', TERMINATED: 'off' };

const machine = (world: WholeGceWorld, path: string): Machine => {
  const instance = instanceIn(world, path);
  return instance
    ? { state: instance.status, power: powers[instance.status] ?? 'between', boot: instance.boot }
    : { state: 'deleted', power: 'gone', boot: 0 };
};

/** Performs an operation as if someone had requested it through the API, so that the audit log contains it. */
const requestOperation =
  (type: Operation['type'], apply: (world: WholeGceWorld, instance: Instance) => void) =>
  (world: WholeGceWorld, path: string): void => {
    const instance = instanceIn(world, path);
    if (!instance) return;
    beginOperation(world, { type, target: path, targetId: instance.id, requestId: null });
    apply(world, instance);
  };

/** Reads the whole body, because an answer is complete only with its body. */
const withWholeBody = async (answer: Response): Promise<Response> =>
  new Response(await answer.arrayBuffer(), { status: answer.status, headers: answer.headers });

/** Returns consecutive UUIDs, so that one seed always gives one history. */
const requestIds = (): (() => string) => {
  let serial = 0;
  return () => `00000000-0000-4000-8000-${String((serial += 1)).padStart(12, '0')}`;
};

const clientsAt = (endpoint: string, inTurn: RunCall) =>
  computeClients({
    newRequestId: requestIds(),
    endpoint,
    fetch: (input, init) => inTurn(async () => withWholeBody(await fetch(input, init))),
  });

export const demoCloud: DemoCloud<GceParts> = {
  name: 'gcp',
  title: 'Compute Engine',
  api: 'compute',
  create: (start) => {
    const world = createGceSandbox(start);
    world.parts.gce.knobs.waitLasts = 0;
    return world;
  },
  scene: (world) => {
    const { disk: volume, holder, spare } = gceDatabaseOnTwoNodes(world);
    return { volume, holder, spare, nodeOf: nodeNameOf };
  },
  machine,
  shortName: nodeNameOf,
  shortNode: (node) => node,
  showsNothing: {},
  holders: (world, volume) => (diskIn(world, volume)?.users ?? []).map((instance) => ({ instance, state: 'attached' })),
  violations: (world) => world.parts.gce.violations,
  stop: requestOperation('stop', stop),
  destroy: requestOperation('delete', remove),
  start: requestOperation('start', start),
  announcements: (world) =>
    world.parts.gce.events.map((event) =>
      event.operation.last ? { id: event.insertId, event, says: event.protoPayload.methodName } : null,
    ),
  sweeps: false,
  openServer: (world, arrived) => openGceServer(world, 0, arrived),
  environment: (url) => ({ CLOUDFENCE_GCP_ENDPOINT: url }),
  connectCloud: (url, inTurn) => gcpCloud(clientsAt(url, inTurn)),
  deploy: (parts) =>
    deployFunction(
      parts,
      createPlatform({ readHints, owns: (path) => instancePath(path)?.project === SANDBOX_PROJECT.project }),
    ),
};
