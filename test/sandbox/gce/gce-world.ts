import { gcpCloud } from '../../../providers/gcp/index.ts';
import { computeClients, type ComputeClients } from '../../../providers/gcp/client.ts';
import { gceActors } from '../../../sandbox/gce/actors.ts';
import { inProcessFetch, type InProcessFetch } from '../../../sandbox/gce/in-process-fetch.ts';
import { emptyGce, type GceWorld, type SimulationSettings, type WithGce } from '../../../sandbox/gce/state.ts';
import { createWorld } from '../../../sandbox/world.ts';

export const place = { project: 'my-project', projectNumber: '123456789012', region: 'europe-west1' } as const;
export const zone = `${place.region}-a`;
export const MINUTE = 60_000;

/** A separate simulated Compute Engine, on a day in November. */
export const gceWorld = (knobs: Partial<SimulationSettings> = {}): GceWorld =>
  createWorld<WithGce>(gceActors(), { gce: emptyGce(place, knobs) }, { now: Date.UTC(2026, 10, 21), seed: 1 });

/** UUIDs in sequence. */
export const requestIds = (): (() => string) => {
  let serial = 0;
  return () => `00000000-0000-4000-8000-${String((serial += 1)).padStart(12, '0')}`;
};

const endpoint = 'http://sandbox.invalid';

/** The SDK for that Compute Engine, without a network. */
export const freshClientsOf = (world: GceWorld, fetch = inProcessFetch(world)): ComputeClients =>
  computeClients({ newRequestId: requestIds(), endpoint, fetch });

const present: { fetch: InProcessFetch | null; newRequestId: () => string } = {
  fetch: null,
  newRequestId: requestIds(),
};

const route: InProcessFetch = (input, init) => {
  if (!present.fetch) throw new Error('no world has been asked for yet');
  return present.fetch(input, init);
};

const shared = computeClients({ newRequestId: () => present.newRequestId(), endpoint, fetch: route });

/** Creating clients takes longer than most tests, so these are shared. They use the world that was requested last. */
export const clientsOf = (world: GceWorld, fetch = inProcessFetch(world)): ComputeClients => {
  Object.assign(present, { fetch, newRequestId: requestIds() });
  return shared;
};

export const cloudOf = (world: GceWorld, clients = clientsOf(world)) => gcpCloud(clients);

export const patient = (): AbortSignal => new AbortController().signal;
