import { describe, expect, it } from 'vitest';
import { beganWithoutMachine, mayHaveFreed, witnessAttachments, witnessDisks } from '../../fencing/rules/identity.ts';
import type { ClusterFacts } from '../../fencing/model/cluster-facts.ts';
import {
  attachedAtMark,
  attachment,
  cluster,
  machine,
  marked,
  node,
  NOW,
  PARKED,
  record,
  view,
  volume,
} from './view-builder.ts';

/** Which disks can confirm that a machine is gone which its cloud does not know. */

const noted = { source: 'volumeAttachment', driver: 'a-driver' } as const;

const unknown = (change: Partial<ClusterFacts>) =>
  view({ machine: machine({ power: 'missing', generation: null }), cluster: cluster(change) });

describe('a witness', () => {
  it('is a disk that Kubernetes saw attached to the machine, and has its attachment', () => {
    const seen = unknown({ node: node(), volumes: [volume()] });
    expect([witnessDisks(seen), witnessAttachments(seen)]).toEqual([['disk-1'], ['va-uid']]);
  });

  it('has no attachment if only the record of a fence that began without the machine names it', () => {
    const standing = marked({ generation: null, volumes: attachedAtMark });
    const found = unknown({ node: standing, volumes: [volume({ attachment: null })] });
    expect([witnessDisks(found), witnessAttachments(found)]).toEqual([['disk-1'], []]);
  });

  it.each([
    ['which Kubernetes is detaching from it', { deletingSince: NOW - 1_000 }, ['disk-1']],
    ['whose attachment names another machine', { source: { ...noted, value: 'm-2' } }, []],
  ])('is a disk of that record, but not one of another machine: %s', (_, change, disks) => {
    const standing = marked({ generation: null, volumes: attachedAtMark });
    const found = unknown({ node: standing, volumes: [volume({ attachment: attachment(change) })] });
    expect(witnessDisks(found)).toEqual(disks);
  });

  it('is not a disk that only the status of the Node names', () => {
    const reported = unknown({ node: node(), volumes: [volume({ attachment: null, reported: true })] });
    expect(witnessDisks(reported)).toEqual([]);
  });

  it('is asked once, however many volumes name it', () => {
    expect(witnessDisks(unknown({ node: node(), volumes: [volume(), volume()] }))).toEqual(['disk-1']);
  });

  it('is not a volume whose driver has no disks in this cloud', () => {
    const other = unknown({ node: node(), volumes: [volume({ handle: 'share-1' })] });
    expect([witnessDisks(other), witnessAttachments(other)]).toEqual([[], []]);
  });
});

describe('whether a fence may have freed the disks', () => {
  const detached = [volume({ attachment: null })];

  it.each([
    ['with its label', marked({ volumes: attachedAtMark })],
    ['although someone removed its label', marked({ volumes: attachedAtMark }, { label: null })],
    ['although someone removed its record', marked({}, { record: null, recordText: null })],
    ['although someone removed all but the quarantine', node({ taints: PARKED })],
  ])('yes, if its machine was there when it began, %s', (_, standing) => {
    const fenced = unknown({ node: standing, volumes: detached });
    expect(mayHaveFreed(fenced)).toBe(true);
    expect(witnessDisks(fenced)).toEqual([]);
  });

  it.each([
    ['no Node', null],
    ['no fence', node()],
    ['a fence that began without its machine', marked({ generation: null })],
  ])('no, with %s', (_, standing) => {
    expect(mayHaveFreed(unknown({ node: standing, volumes: detached }))).toBe(false);
  });
});

it.each([
  ['fencing', true],
  ['fenced', true],
  ['lifted', false],
  ['releasing', false],
] as const)(
  'a fence without a generation may have freed the disks only if the machine was seen since: %s',
  (phase, began) => {
    expect(beganWithoutMachine(record({ generation: null, phase }))).toBe(began);
    expect(beganWithoutMachine(record({ phase }))).toBe(false);
  },
);
