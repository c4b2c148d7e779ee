import { describe, expect, it } from 'vitest';
import type { IdentitySource } from '../../../fencing/model/machine.ts';
import {
  clusterNamesFromLabels,
  diskOf,
  immutableIdsOf,
  isReachableDisk,
  machineOf,
  candidateNodeNames,
  identityRulesFor,
  regionOf,
} from '../../../providers/gcp/identity.ts';

const path = 'projects/my-project/zones/europe-west1-b/instances/node-1';
const driver = 'pd.csi.storage.gke.io';

describe('the machine that an identity source names', () => {
  it.each([
    ['gce://my-project/europe-west1-b/node-1', path],
    [
      'gce://example.com:old-project/us-central1-f/n',
      'projects/example.com:old-project/zones/us-central1-f/instances/n',
    ],
    ['gce:///europe-west1-b/node-1', null],
    ['gce://my-project/europe-west1-b', null],
    ['gce://my-project/europe-west1-b/node-1/more', null],
    ['gce://my-project/europe-west1-b/Node-1', null],
    ['gce://my-project/europe-west1-b/4611686018427387906', null],
    ['gce://my-project/europe-west1-b/node-1\n', null],
    [path, path],
    ['aws:///europe-west1-b/node-1', null],
    ['', null],
  ])('providerID %s names %s', (value, machine) => {
    expect(machineOf({ source: 'providerID', driver: null, value })).toBe(machine);
  });

  it.each(['csiNode', 'nodeIdAnnotation', 'volumeAttachment'] as const)(
    '%s counts if the Persistent Disk driver wrote it',
    (source) => {
      const written = (by: string | null, value: string): IdentitySource => ({ source, driver: by, value });
      expect(machineOf(written(driver, path))).toBe(path);
      expect(machineOf(written(driver, 'node-1'))).toBeNull();
      expect(machineOf(written(driver, `${path}/more`))).toBeNull();
      expect(machineOf(written('filestore.csi.storage.gke.io', path))).toBeNull();
      expect(machineOf(written(null, path))).toBeNull();
    },
  );
});

describe('the incarnation that an identity source names', () => {
  it.each([
    ['4611686018427387906', ['4611686018427387906']],
    ['18446744073709551615', ['18446744073709551615']],
    ['0461168601842738790', []],
    ['4611686018427387906 ', []],
    ['node-1', []],
    ['', []],
  ])('the annotation of GKE says %j', (value, ids) => {
    expect(immutableIdsOf({ source: 'instanceIdAnnotation', driver: null, value })).toEqual(ids);
  });

  it('is not told by anything that the next machine of the name would also carry', () => {
    for (const source of ['providerID', 'csiNode', 'nodeIdAnnotation', 'volumeAttachment', 'systemUUID'] as const) {
      expect(immutableIdsOf({ source, driver, value: '4611686018427387906' })).toEqual([]);
    }
  });
});

describe('the disk behind a volume handle', () => {
  it.each([
    [driver, 'projects/p/zones/europe-west1-b/disks/pvc-1', true],
    [driver, 'projects/p/regions/europe-west1/disks/pvc-1', true],
    [driver, 'projects/UNSPECIFIED/zones/europe-west1-b/disks/pvc-1', false],
    [driver, 'projects/p/zones/UNSPECIFIED/disks/pvc-1', false],
    [driver, 'projects/p/zones/multi-zone/disks/pvc-1', false],
    [driver, 'projects/p/zones/europe-west1-b/instances/pvc-1', false],
    [driver, 'pvc-1', false],
    ['ebs.csi.aws.com', 'projects/p/zones/europe-west1-b/disks/pvc-1', false],
  ])('%s %s: %s', (by, handle, known) => {
    expect(diskOf({ driver: by, handle })).toBe(known ? handle : null);
  });
});

describe('the disk behind a volume handle, for an instance', () => {
  const { diskOf: diskOfInstance } = identityRulesFor('projects/p/zones/europe-west1-b/instances/node-1');
  it.each([
    ['projects/UNSPECIFIED/zones/europe-west1-b/disks/pd-1', 'projects/p/zones/europe-west1-b/disks/pd-1'],
    ['projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd-1', 'projects/p/zones/europe-west1-b/disks/pd-1'],
    ['projects/UNSPECIFIED/regions/europe-west1/disks/pd-1', 'projects/p/regions/europe-west1/disks/pd-1'],
    ['projects/q/zones/europe-west1-b/disks/pd-1', 'projects/q/zones/europe-west1-b/disks/pd-1'],
    ['projects/UNSPECIFIED/zones/multi-zone/disks/pd-1', null],
    ['projects/UNSPECIFIED/zones/europe-west1-b/instances/pd-1', null],
  ])('%s is %s', (handle, disk) => {
    expect(diskOfInstance({ driver, handle })).toBe(disk);
  });

  it('is no more than what another driver’s volume gives', () => {
    expect(
      diskOfInstance({ driver: 'ebs.csi.aws.com', handle: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd-1' }),
    ).toBeNull();
  });
});

describe('names and places', () => {
  it('tries the name of the instance first, and each name once', () => {
    const place = { project: 'p', zone: 'europe-west1-b', instance: 'node-1' };
    expect(candidateNodeNames(place, 'node-1')).toEqual([
      'node-1',
      'node-1.europe-west1-b.c.p.internal',
      'node-1.c.p.internal',
    ]);
    expect(candidateNodeNames(place, 'db.example.org')[1]).toBe('db.example.org');
  });

  it('finds a cluster by the label of GKE', () => {
    expect(clusterNamesFromLabels({ 'goog-k8s-cluster-name': 'blue', other: 'green' })).toEqual(['blue']);
    expect(clusterNamesFromLabels({ other: 'green' })).toEqual([]);
    expect(clusterNamesFromLabels(null)).toEqual([]);
  });

  it('knows from which zone or region a disk can be attached to a machine', () => {
    const machine = { project: 'p', zone: 'europe-west1-b', instance: 'node-1' };
    expect(regionOf('europe-west1-b')).toBe('europe-west1');
    expect(isReachableDisk({ project: 'p', zone: 'europe-west1-b', disk: 'd' }, machine)).toBe(true);
    expect(isReachableDisk({ project: 'p', region: 'europe-west1', disk: 'd' }, machine)).toBe(true);
    expect(isReachableDisk({ project: 'p', zone: 'europe-west1-c', disk: 'd' }, machine)).toBe(false);
    expect(isReachableDisk({ project: 'p', region: 'europe-west10', disk: 'd' }, machine)).toBe(false);
    expect(isReachableDisk({ project: 'q', zone: 'europe-west1-b', disk: 'd' }, machine)).toBe(false);
  });
});
