import { describe, expect, it } from 'vitest';
import type { IdentitySource } from '../../../fencing/model/machine.ts';
import * as aws from '../../../providers/aws/identity.ts';
import * as azure from '../../../providers/azure/identity.ts';
import * as gcp from '../../../providers/gcp/identity.ts';

/**
 * A kubelet writes the volumes in the status of its Node, and its providerID. A person writes the handles of volumes.
 * Each becomes a part of the path of a request to the cloud. A text that would lead to another path is no name.
 */

const IMPOSSIBLE = [
  'x'.repeat(500),
  '..',
  '.',
  'a/..',
  '../b',
  'a..',
  'a%2f..',
  '%2e%2e',
  'a?b',
  'a#b',
  'a\\b',
  'a b',
  '\uD800',
  '',
];

const COMPUTE = '/subscriptions/s/resourcegroups/g/providers/microsoft.compute';

const clouds = [
  {
    name: 'AWS',
    identity: aws,
    driver: 'ebs.csi.aws.com',
    disk: (name: string) => `vol-0123456789abcdef0${name}`,
    machines: (name: string) => [`aws:///eu-west-1a/${name}`, name],
  },
  {
    name: 'Azure',
    identity: azure,
    driver: 'disk.csi.azure.com',
    disk: (name: string) => `${COMPUTE}/disks/${name}`,
    machines: (name: string) => [
      `azure://${COMPUTE}/virtualmachines/${name}`,
      `azure://${COMPUTE.replace('/g/', `/${name}/`)}/virtualmachines/vm`,
      `azure://${COMPUTE}/virtualmachinescalesets/${name}/virtualmachines/0`,
      `azure://${COMPUTE}/virtualmachinescalesets/set/virtualmachines/${name}`,
    ],
  },
  {
    name: 'Google Cloud',
    identity: gcp,
    driver: 'pd.csi.storage.gke.io',
    disk: (name: string) => `projects/p/zones/z/disks/${name}`,
    machines: (name: string) => [
      `gce://p/z/${name}`,
      `gce://p/${name}/vm`,
      `gce://${name}/z/vm`,
      `projects/p/zones/${name}/instances/vm`,
    ],
  },
];

describe.each(clouds)('on $name', ({ identity, driver, disk, machines }) => {
  const source = (value: string): IdentitySource => ({ source: 'providerID', driver: null, value });

  it.each(IMPOSSIBLE.filter((name) => name !== ''))('the name %j is not a disk', (name) => {
    expect(identity.diskOf({ driver, handle: disk(name) })).toBeNull();
  });

  it.each(IMPOSSIBLE)('the name %j is not a machine', (name) => {
    expect(machines(name).map((value) => identity.machineOf(source(value)))).toEqual(machines(name).map(() => null));
  });
});
