import { expect, it } from 'vitest';
import { attachmentName } from '../../kubernetes/attachments.ts';
import type { Transport } from '../../kubernetes/exchange.ts';
import {
  type ClusterHarness,
  DRIVER,
  LEASES,
  made,
  makeAttachment,
  makeNode,
  makePod,
  makeVolume,
  NODES,
  queryFor,
  unhurried,
} from '../contract/cluster/harness.ts';
import { adminOf, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import { inProcess } from '../sandbox/in-process.ts';
import { clusterOver, patientClock } from './wire.ts';

/** What is read from lists is complete and current, whatever pages and caches the API server has. */

const query = (path: string): URLSearchParams => new URL(path, 'https://server').searchParams;

/** The server's cache is behind: it still shows a cluster without any object to a client that accepts an old state. */
const withOldCache = (server: Transport): Transport => {
  const old = inProcess(sandboxServer());
  return (request, signal) => (query(request.path).has('resourceVersion') ? old : server)(request, signal);
};

const EMPTY_PAGE = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    kind: 'List',
    apiVersion: 'v1',
    items: [],
    metadata: { resourceVersion: '1', continue: 'the rest' },
  }),
};

/** A server may end a page before it finds the first object. Only the missing token ends a list. */
const withEmptyFirstPage =
  (server: Transport): Transport =>
  async (request, signal) => {
    const asked = query(request.path);
    if (!asked.has('limit')) return server(request, signal);
    if (!asked.has('continue')) return EMPTY_PAGE;
    asked.delete('continue');
    return server({ ...request, path: `${request.path.split('?', 1)[0] ?? ''}?${asked.toString()}` }, signal);
  };

/** A server may put fewer objects on a page than it is asked for. */
const withSmallPages =
  (server: Transport): Transport =>
  (request, signal) =>
    server({ ...request, path: request.path.replace(/\blimit=\d{2,}/, 'limit=1') }, signal);

const servers = [
  ['a cache that is behind', withOldCache],
  ['a first page without objects', withEmptyFirstPage],
  ['pages of one object', withSmallPages],
] as const;

/** A silent Node with a pod, and with a volume that no status shows any more. */
const stage = async (wrap: (server: Transport) => Transport) => {
  const clock = patientClock();
  const server = sandboxServer({ now: clock.now });
  const cluster = clusterOver(wrap(inProcess(server)), clock);
  const harness = { cluster, admin: adminOf(server), now: clock.now };
  await makeNode(harness, { name: 'node', machine: 'i-1' });
  const renewTime = `${new Date(clock.now() - 600_000).toISOString().slice(0, -1)}000Z`;
  await made(harness, LEASES, { metadata: { name: 'node' }, spec: { renewTime } });
  await makePod(harness, 'node', {}, { name: 'db-0' });
  await attach(harness, 'vol-1', 'i-1');
  return harness;
};

/** Attaches a new volume to the Node, as an attacher does that knows this machine. */
const attach = async (harness: ClusterHarness, handle: string, machine: string): Promise<void> => {
  const volume = await makeVolume(harness, handle);
  await makeAttachment(harness, attachmentName({ driver: DRIVER, handle }, 'node'), 'node', volume, machine);
};

it.each(servers)('nothing is missing from a look, a search, a sweep, or a survey because of %s', async (_, wrap) => {
  const { look, find, suspects, surveyConnectivity } = (await stage(wrap)).cluster;
  const machine = queryFor('i-1');
  const request = { query: machine, node: 'node', remembered: null, successorsOf: [], search: true };
  const { pods, volumes } = await look(request, unhurried());
  expect(pods).toMatchObject([{ name: 'db-0' }]);
  expect(volumes).toMatchObject([{ handle: 'vol-1', attachment: { source: { value: 'i-1' } } }]);
  expect(await find(machine, unhurried())).toEqual(['node']);
  expect(await suspects(60_000, unhurried())).toMatchObject([{ node: 'node', because: 'lease-stale' }]);
  expect(await surveyConnectivity('node', 60_000, machine, unhurried())).toMatchObject({
    unreachable: ['node'],
    nodesNamingMachine: ['node'],
  });
});

it('nothing is missing from a search in a large cluster, whose list has hundreds of pages', async () => {
  const harness = await stage(withSmallPages);
  for (let nth = 0; nth < 200; nth += 1) await makeNode(harness, { name: `other-${nth}`, machine: `i-9${nth}` });
  expect(await harness.cluster.find(queryFor('i-9199'), unhurried())).toEqual(['other-199']);
});

it.each(servers)('nothing that a Node has left behind is missing because of %s', async (_, wrap) => {
  const harness = await stage(wrap);
  await attach(harness, 'vol-2', 'i-1');
  await harness.admin('DELETE', `${NODES}/node`);
  const look = async () => {
    const request = { query: queryFor('i-1'), node: null, remembered: null, successorsOf: [] };
    const { volumes, nameTaken } = await harness.cluster.look(request, unhurried());
    return { nameTaken, handles: volumes.map(({ handle }) => handle).sort() };
  };
  expect(await look()).toEqual({ nameTaken: false, handles: ['vol-1', 'vol-2'] });
  await attach(harness, 'vol-3', 'i-2');
  expect(await look()).toEqual({ nameTaken: true, handles: ['vol-1', 'vol-2'] });
});
