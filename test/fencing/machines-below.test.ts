import { describe, expect, it } from 'vitest';
import type { Cloud } from '../../fencing/model/cloud.ts';
import type { Cluster, SuspectNode } from '../../fencing/model/cluster.ts';
import { PermissionDenied } from '../../fencing/model/errors.ts';
import type { Power } from '../../fencing/model/machine.ts';
import { machinesOfGoneNode } from '../../fencing/sweep/gone-nodes.ts';
import type { Ports } from '../../fencing/loop/ports.ts';
import {
  attachment,
  cluster as clusterFacts,
  diskOf,
  incarnationsOf,
  machine,
  machineOf,
  volume,
} from './view-builder.ts';

const unasked = () => Promise.reject(new Error('nobody asks for this'));

/** A Node that is gone, with attachments of these disks to it. */
const clusterWith = (disks: readonly string[], nameTaken = false, attached = true): Cluster => ({
  name: 'blue',
  find: unasked,
  identify: unasked,
  look: async () =>
    clusterFacts({
      node: null,
      nameTaken,
      pods: [],
      volumes: disks.map((handle) => volume({ handle, attachment: attachment({ attached }) })),
    }),
  attachment: unasked,
  recheck: unasked,
  apply: unasked,
  recordEvent: unasked,
  surveyConnectivity: unasked,
  reserve: unasked,
  conclude: unasked,
  concludeUnless: unasked,
  suspects: unasked,
});

interface Said {
  readonly holders: Record<string, readonly string[]>;
  readonly named: readonly string[];
  readonly power: Record<string, Power>;
}

/** A cloud whose machines are named `m-…` after their Nodes. */
const cloudThat = ({ holders, named, power }: Said): Cloud => ({
  name: 'a-cloud',
  look: async (machines) =>
    machines.map((id) =>
      machine({ machine: id, power: power[id] ?? 'missing', nodeNames: [id.replace(/^m-(?:also-)?/, '')] }),
    ),
  witness: unasked,
  holders: async (volumes) =>
    volumes.flatMap(({ handle }) => (holders[handle] ? [{ disk: handle, by: holders[handle] }] : [])),
  machinesNamed: () => named,
  detach: unasked,
  powerOff: unasked,
  machineOf,
  immutableIdsOf: incarnationsOf,
  unservedScope: () => null,
  diskOf,
});

const portsTo = (cloud: Cloud): Ports => ({
  cloud,
  clusters: [],
  clock: {
    now: () => ({ wall: 0, mono: 0 }),
    sleep: async () => undefined,
    timeout: () => new AbortController().signal,
  },
  signal: new AbortController().signal,
  observe: () => undefined,
});

const suspect: SuspectNode = {
  because: 'node-missing',
  node: 'node-a',
  identitySources: [],
  record: null,
  marked: null,
  attachments: ['csi-1', 'csi-2'],
};

/** No read of this test lasts that long. */
const LASTS_MS = 10_000;

const below = (said: Partial<Said>, disks: readonly string[] = ['disk-1', 'disk-2'], nameTaken = false) =>
  machinesOfGoneNode(
    clusterWith(disks, nameTaken),
    suspect,
    portsTo(cloudThat({ holders: { 'disk-1': [], 'disk-2': [] }, named: [], power: {}, ...said })),
    LASTS_MS,
  );

describe('the machine of a Node that is gone', () => {
  it('is the one that holds a disk which was attached to that Node', async () => {
    expect(await below({ holders: { 'disk-1': [], 'disk-2': ['m-9'] }, named: ['m-node-a'] })).toEqual({
      machines: ['m-9'],
      doubt: null,
    });
  });

  it('is the one with its name if all disks are free, preferably one that still exists', async () => {
    expect(await below({ named: ['m-node-a', 'm-also-node-a'] })).toEqual({ machines: ['m-node-a'], doubt: null });
    expect(await below({ named: ['m-node-a', 'm-also-node-a'], power: { 'm-also-node-a': 'off' } })).toEqual({
      machines: ['m-also-node-a'],
      doubt: null,
    });
  });

  it('is unknown, and is reported, if the disks point to two machines or nothing points to any', async () => {
    const two = await below({ holders: { 'disk-1': ['m-1'], 'disk-2': ['m-2'] } });
    expect(two).toEqual({
      machines: [],
      doubt: expect.stringMatching(/Node node-a no longer exists.*csi-1, csi-2.*more than one machine.*m-1, m-2/),
    });
    expect(await below({ holders: { 'disk-1': ['m-1', 'm-2'], 'disk-2': [] } })).toEqual(two);
    expect(await below({ named: ['m-elsewhere'] })).toEqual({
      machines: [],
      doubt: expect.stringContaining('no machine with that name'),
    });
  });

  it('is unknown if the disks cannot be read', async () => {
    const cloud = {
      ...cloudThat({ holders: {}, named: [], power: {} }),
      holders: () => Promise.reject(new PermissionDenied('not allowed')),
    };
    expect(await machinesOfGoneNode(clusterWith(['disk-1']), suspect, portsTo(cloud), LASTS_MS)).toEqual({
      machines: [],
      doubt: expect.stringContaining('not allowed'),
    });
  });

  const { holders: _, ...silent } = cloudThat({ holders: {}, named: [], power: {} });

  it('is unknown, and is reported, if the cloud cannot be asked by disk', async () => {
    expect(await machinesOfGoneNode(clusterWith(['disk-1']), suspect, portsTo(silent), LASTS_MS)).toEqual({
      machines: [],
      doubt: expect.stringContaining('cannot ask a-cloud'),
    });
  });

  it('is ignored if no disk is of this cloud, another machine has the name, or none was ever attached', async () => {
    const nobody = { machines: [], doubt: null };
    expect(await below({}, ['elsewhere'])).toEqual(nobody);
    expect(await below({ holders: { 'disk-1': ['m-1'] } }, ['disk-1'], true)).toEqual(nobody);
    const free = cloudThat({ holders: { 'disk-1': [] }, named: ['m-node-a'], power: {} });
    expect(await machinesOfGoneNode(clusterWith(['disk-1'], false, false), suspect, portsTo(free), LASTS_MS)).toEqual(
      nobody,
    );
    expect(await machinesOfGoneNode(clusterWith(['disk-1'], false, false), suspect, portsTo(silent), LASTS_MS)).toEqual(
      nobody,
    );
  });
});
