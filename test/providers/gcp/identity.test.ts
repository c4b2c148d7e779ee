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
  pathFromLink,
  instancePath,
  diskPath,
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
    ['gce://2024-project/europe-west1-b/n', 'projects/2024-project/zones/europe-west1-b/instances/n'],
    ['xgce://my-project/europe-west1-b/node-1', null],
    [`x${path}`, null],
    [`${path}/more`, null],
    ['gce://my-project/europe-west1-b/node-', null],
    ['gce://-project/europe-west1-b/node-1', null],
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

it.each(['systemUUID', 'instanceIdAnnotation'] as const)(
  '%s names no machine, even if it contains a path',
  (source) => {
    expect(machineOf({ source, driver, value: path })).toBeNull();
  },
);

describe('the incarnation that an identity source names', () => {
  it.each([
    ['4611686018427387906', ['4611686018427387906']],
    ['18446744073709551615', ['18446744073709551615']],
    ['7', ['7']],
    ['123456789012345678901', []],
    ['x461168601842738790', []],
    ['461168601842738790x', []],
    ['0461168601842738790', []],
    ['4611686018427387906 ', []],
    ['node-1', []],
    ['', []],
  ])('the annotation of GKE says %j', (value, ids) => {
    expect(immutableIdsOf({ source: 'instanceIdAnnotation', driver: null, value })).toEqual(ids);
  });

  it('is not read from anything that the next machine of the name would also have', () => {
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
    [driver, 'xprojects/p/zones/europe-west1-b/disks/pvc-1', false],
    [driver, 'projects/p/zones/europe-west1-b/disks/pvc-1/more', false],
    [driver, 'xprojects/p/regions/europe-west1/disks/pvc-1', false],
    [driver, 'projects/p/regions/europe-west1/disks/pvc-1/more', false],
    [driver, 'projects/p/zones/multi-zone-b/disks/pvc-1', true],
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
    ['projects/q/zones/UNSPECIFIED/disks/pd-1', 'projects/q/zones/europe-west1-b/disks/pd-1'],
    ['xprojects/UNSPECIFIED/zones/europe-west1-b/disks/pd-1', null],
    ['projects/UNSPECIFIED/elsewhere/europe-west1-b/disks/pd-1', null],
    ['projects/p/xzones/UNSPECIFIED/disks/pd-1', null],
    ['projects/UNSPECIFIED/zones/multi-zone/disks/pd-1', null],
    ['projects/UNSPECIFIED/zones/europe-west1-b/instances/pd-1', null],
  ])('%s is %s', (handle, disk) => {
    expect(diskOfInstance({ driver, handle })).toBe(disk);
  });

  it('is read from the handle alone if the machine is not an instance', () => {
    const { diskOf: ofNothing } = identityRulesFor('node-1');
    expect(ofNothing({ driver, handle: 'projects/p/zones/europe-west1-b/disks/pd-1' })).toBe(
      'projects/p/zones/europe-west1-b/disks/pd-1',
    );
    expect(ofNothing({ driver, handle: 'projects/UNSPECIFIED/zones/europe-west1-b/disks/pd-1' })).toBeNull();
  });

  it('is read by the rules of Compute Engine, in which every location is served', () => {
    const rules = identityRulesFor(path);
    const said: IdentitySource = { source: 'providerID', driver: null, value: 'gce://other/zone/node-1' };
    expect(rules.name).toBe('gcp');
    expect(rules.unservedScope(said)).toBeNull();
    expect(rules.machineOf(said)).toBe('projects/other/zones/zone/instances/node-1');
    expect(rules.immutableIdsOf({ source: 'instanceIdAnnotation', driver: null, value: '7' })).toEqual(['7']);
  });

  it('is not read for a volume of another driver', () => {
    expect(
      diskOfInstance({ driver: 'ebs.csi.aws.com', handle: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd-1' }),
    ).toBeNull();
  });
});

describe('the names of a machine, and its location', () => {
  it('begin with the name of the instance, and contain each name once', () => {
    const place = { project: 'p', zone: 'europe-west1-b', instance: 'node-1' };
    expect(candidateNodeNames(place, 'node-1')).toEqual([
      'node-1',
      'node-1.europe-west1-b.c.p.internal',
      'node-1.c.p.internal',
    ]);
    expect(candidateNodeNames(place, 'db.example.org')[1]).toBe('db.example.org');
  });

  it('contain the path in a link, and a link without a path unchanged', () => {
    const link = 'https://www.googleapis.com/compute/v1/projects/p/zones/z/disks/d';
    expect(pathFromLink(link)).toBe('projects/p/zones/z/disks/d');
    expect(pathFromLink('projects/p/zones/z/disks/d')).toBe('projects/p/zones/z/disks/d');
    expect(pathFromLink('zones/z/disks/d')).toBe('zones/z/disks/d');
    expect(pathFromLink('')).toBe('');
  });

  it('contain no region for a zone without one', () => {
    expect(regionOf('here')).toBe('');
  });

  it('identify an instance and a disk by their whole path', () => {
    expect(instancePath(path)).toEqual({ project: 'my-project', zone: 'europe-west1-b', instance: 'node-1' });
    expect(instancePath('node-1')).toBeNull();
    expect(diskPath('projects/p/zones/z/disks/d')).toEqual({ project: 'p', zone: 'z', disk: 'd' });
    expect(diskPath('projects/p/regions/r/disks/d')).toEqual({ project: 'p', region: 'r', disk: 'd' });
    expect(diskPath('d')).toBeNull();
  });

  it('do not contain a host name that is not set', () => {
    expect(candidateNodeNames({ project: 'p', zone: 'z', instance: 'n' }, '')).toEqual([
      'n',
      'n.z.c.p.internal',
      'n.c.p.internal',
    ]);
  });

  it('contain the cluster from the label of GKE', () => {
    expect(clusterNamesFromLabels({ 'goog-k8s-cluster-name': '' })).toEqual([]);
    expect(clusterNamesFromLabels(undefined)).toEqual([]);
    expect(clusterNamesFromLabels({ 'goog-k8s-cluster-name': 'blue', other: 'green' })).toEqual(['blue']);
    expect(clusterNamesFromLabels({ other: 'green' })).toEqual([]);
    expect(clusterNamesFromLabels(null)).toEqual([]);
  });

  it('show from which zone or region a disk can be attached to a machine', () => {
    const machine = { project: 'p', zone: 'europe-west1-b', instance: 'node-1' };
    expect(regionOf('europe-west1-b')).toBe('europe-west1');
    expect(isReachableDisk({ project: 'p', zone: 'europe-west1-b', disk: 'd' }, machine)).toBe(true);
    expect(isReachableDisk({ project: 'p', region: 'europe-west1', disk: 'd' }, machine)).toBe(true);
    expect(isReachableDisk({ project: 'p', zone: 'europe-west1-c', disk: 'd' }, machine)).toBe(false);
    expect(isReachableDisk({ project: 'p', region: 'europe-west10', disk: 'd' }, machine)).toBe(false);
    expect(
      isReachableDisk({ project: 'p', region: 'europe-west1', disk: 'd' }, { ...machine, zone: 'europe-west10-b' }),
    ).toBe(false);
    expect(isReachableDisk({ project: 'q', zone: 'europe-west1-b', disk: 'd' }, machine)).toBe(false);
  });
});
