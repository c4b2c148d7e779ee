import { describe, expect, it } from 'vitest';
import type { ClusterFacts, PodFacts, VolumeFacts, VolumeLeft } from '../../fencing/model/cluster-facts.ts';
import type { DiskHolders } from '../../fencing/model/machine.ts';
import { keepOwnVolumes, volumesOfUnknownOwner, withoutFreed } from '../../fencing/loop/look.ts';
import { attachment, cluster, machine, pod, record, volume, volumeLeft } from './view-builder.ts';

/** One cloud whose driver writes the name of the Node into an attachment, and one whose driver writes the machine. */
const identityRules = {
  name: 'cloud',
  machineOf: ({ value }: { readonly value: string }) => (value.startsWith('m-') ? value : null),
  immutableIdsOf: () => [],
  unservedScope: () => null,
  diskOf: ({ driver, handle }: { readonly driver: string; readonly handle: string }) =>
    driver === 'disks' ? handle : null,
};

const nothingBefore: { readonly volumesLeft: readonly VolumeLeft[] } = { volumesLeft: [] };

const whose = { request: { machine: 'm-1' }, identityRules, record: null, memory: nothingBefore };

const attached = (handle: string, noted: string, driver = 'disks'): VolumeFacts =>
  volume({
    driver,
    handle,
    key: `${driver}^${handle}`,
    attachmentName: `csi-${handle}`,
    attachment: attachment({ name: `csi-${handle}`, source: { source: 'volumeAttachment', driver, value: noted } }),
  });

const user = (name: string, ...handles: readonly string[]): PodFacts =>
  pod({ name, uid: name, volumes: handles.map((handle) => `disks^${handle}`) });

const left = (volumes: readonly VolumeFacts[], pods: readonly PodFacts[] = []): ClusterFacts => ({
  ...cluster({}),
  node: null,
  nodeName: 'n',
  volumes,
  pods,
});

const own = (facts: ClusterFacts, holdings: readonly DiskHolders[]) =>
  keepOwnVolumes(facts, volumesOfUnknownOwner(facts, whose), whose, holdings).volumes.map(({ handle }) => handle);

const held = (disk: string, ...by: readonly string[]): DiskHolders => ({ disk, by });

describe('attachments to a Node that is gone', () => {
  it('are ignored if they name no machine, unless one of them names this machine or a fence named them before', () => {
    const [a, b] = [attached('a', 'n'), attached('b', 'n')];
    expect(volumesOfUnknownOwner(left([a, b]), whose)).toEqual([a, b]);
    expect(volumesOfUnknownOwner(left([a, attached('c', 'm-1')]), whose)).toEqual([]);
    const named = [{ driver: 'disks', handle: 'a', persistentVolume: null, attachment: 'csi-a' }];
    expect(
      volumesOfUnknownOwner(left([a, b]), { ...whose, record: record({ machine: 'm-1', volumes: named }) }),
    ).toEqual([b]);
    expect(
      volumesOfUnknownOwner(left([a, b]), { ...whose, record: record({ machine: 'm-2', volumes: named }) }),
    ).toEqual([a, b]);
  });

  it.each([
    ['the machine holds one of the disks', [held('a', 'm-1')], ['a', 'b']],
    ['it shares one of them', [held('a', 'm-2', 'm-1'), held('b')], ['a', 'b']],
    ['no machine holds any', [held('a'), held('b')], ['a', 'b']],
    ['one is free and the other cannot be found', [held('a')], []],
    ['none can be found', [], []],
    ['another machine holds one', [held('a', 'm-1'), held('b', 'm-2')], []],
    ['two other machines hold one', [held('a', 'm-1'), held('b', 'm-2', 'm-3')], []],
  ] as const)('belong to this machine if their disks say so: %s', (_, holdings, expected) => {
    expect(own(left([attached('a', 'n'), attached('b', 'n')]), holdings)).toEqual(expected);
  });

  it('belong to this machine according to the disks of this cloud, whatever another driver has attached there', () => {
    const foreign = attached('x', 'n', 'ceph');
    expect(own(left([attached('a', 'n'), foreign]), [held('a')])).toEqual(['a', 'x']);
    expect(own(left([attached('a', 'n'), foreign]), [])).toEqual([]);
    expect(own(left([foreign]), [])).toEqual([]);
    const planned = volume({
      ...attached('a', 'n'),
      attachment: attachment({ attached: false, source: { source: 'volumeAttachment', driver: 'disks', value: 'n' } }),
    });
    expect(own(left([planned, foreign]), [held('a')])).toEqual([]);
  });

  it('of another machine do not hide a volume that this machine has left before its disk', () => {
    const gone = volume({ handle: 'own', key: 'disks^own', attachmentName: 'csi-own', attachment: null });
    const facts = left([attached('anothers', 'n'), gone]);
    const remembering = { ...whose, memory: { volumesLeft: [volumeLeft(gone)] } };
    const kept = (who: typeof whose) =>
      keepOwnVolumes(facts, volumesOfUnknownOwner(facts, who), who, [held('anothers', 'm-2')]).volumes;
    expect(kept(whose)).toEqual([]);
    expect(kept(remembering)).toEqual([gone]);
    const another = volumeLeft(volume({ attachmentName: 'csi-other', attachment: null }));
    expect(kept({ ...whose, memory: { volumesLeft: [another] } })).toEqual([]);
  });

  it('count after their attachments are gone until their disks are free', () => {
    const gone = volume({
      driver: 'disks',
      handle: 'a',
      key: 'disks^a',
      attachmentName: 'csi-a',
      attachment: null,
      persistentVolume: null,
    });
    const { driver, handle, key, persistentVolume, attachmentName } = gone;
    const volumesLeft = [volumeLeft(gone)];
    const run = { ...whose, memory: { volumesLeft, detached: new Set<string>() } };
    const facts = left([gone]);
    const kept = (
      disks: readonly string[],
      change: Partial<Parameters<typeof withoutFreed>[2]> = {},
      pods: readonly PodFacts[] = [],
    ) => {
      const seen = machine({ disks: disks.map((disk) => ({ disk, state: 'attached', keep: null })) });
      return withoutFreed({ ...facts, pods }, seen, { ...run, ...change }).volumes.length;
    };
    expect([kept(['a']), kept(['b']), kept([])]).toEqual([1, 0, 0]);
    expect(kept([], {}, [user('its', 'a')])).toBe(1);
    expect(kept([], { memory: { volumesLeft, detached: new Set([key]) } })).toBe(1);
    expect(kept([], { memory: { volumesLeft: [], detached: new Set() } })).toBe(1);
    const volumes = [{ driver, handle, persistentVolume, attachment: attachmentName }];
    expect(kept([], { record: record({ machine: 'm-1', volumes }) })).toBe(1);
    expect(kept([], { record: record({ machine: 'm-2', volumes }) })).toBe(0);
    expect(withoutFreed(facts, undefined, run)).toBe(facts);
    const onNode = cluster({ volumes: [gone] });
    expect(withoutFreed(onNode, machine({ disks: [] }), run)).toBe(onNode);
    expect(withoutFreed(left([attached('a', 'n')]), machine({ disks: [] }), run).volumes).toHaveLength(1);
  });

  it('belong to no machine if all disks are free and none was ever attached', () => {
    const wanted = (handle: string) => ({
      ...attached(handle, 'n'),
      attachment: attachment({ attached: false, source: { source: 'volumeAttachment', driver: 'disks', value: 'n' } }),
    });
    expect(own(left([wanted('a'), wanted('b')]), [held('a'), held('b')])).toEqual([]);
    expect(own(left([wanted('a'), attached('b', 'n')]), [held('a'), held('b')])).toEqual(['a', 'b']);
    expect(own(left([wanted('a'), wanted('b')]), [held('a', 'm-1'), held('b')])).toEqual(['a', 'b']);
  });

  it('bring in the pods that use them', () => {
    const facts = left(
      [attached('a', 'n'), volume({ handle: 'unattached', key: 'disks^unattached', attachment: null })],
      [user('of-a', 'a', 'unattached')],
    );
    const silent = volumesOfUnknownOwner(facts, whose);
    expect(keepOwnVolumes(facts, silent, whose, [held('a', 'm-2')])).toMatchObject({ volumes: [], pods: [] });
    expect(keepOwnVolumes(facts, silent, whose, [held('a', 'm-1')])).toEqual(facts);
  });

  it('bring in a pod whose claim cannot be resolved only if one of them belongs to this machine', () => {
    const facts = left([attached('a', 'n')], [pod({ name: 'unclear', volumes: [], unresolved: ['default/data'] })]);
    const silent = volumesOfUnknownOwner(facts, whose);
    expect(keepOwnVolumes(facts, silent, whose, [held('a', 'm-2')]).pods).toEqual([]);
    expect(keepOwnVolumes(facts, silent, whose, [held('a', 'm-1')]).pods).toEqual(facts.pods);
  });

  it('do not bring in the pods that a fence of another machine named', () => {
    const facts = left([attached('a', 'n')], [user('noted', 'a')]);
    const pods = [{ namespace: 'default', name: 'noted', uid: 'noted' }];
    const kept = (machine: string) => {
      const fenced = { ...whose, record: record({ machine, volumes: [], pods }) };
      return keepOwnVolumes(facts, volumesOfUnknownOwner(facts, fenced), fenced, [held('a', 'm-2')]).pods;
    };
    expect([kept('m-1').length, kept('m-2').length]).toEqual([1, 0]);
  });

  it('of another machine are omitted alone: what the fence, its pods, or its own attachments name stays', () => {
    const noted = (handle: string) => ({
      driver: 'disks',
      handle,
      persistentVolume: null,
      attachment: `csi-${handle}`,
    });
    const fence = record({
      machine: 'm-1',
      volumes: [noted('own'), noted('freed')],
      pods: [{ namespace: 'default', name: 'noted', uid: 'noted' }],
    });
    const loose = (handle: string) =>
      volume({ driver: 'disks', handle, key: `disks^${handle}`, attachmentName: `csi-${handle}`, attachment: null });
    const facts = left(
      [attached('own', 'n'), attached('anothers', 'n'), loose('freed'), loose('wanted'), loose('strange')],
      [
        user('noted'),
        user('of-own', 'own', 'wanted'),
        user('of-both', 'own', 'anothers'),
        user('of-anothers', 'anothers', 'strange'),
        pod({ name: 'unclear', uid: 'unclear', volumes: [], unresolved: ['default/data'] }),
      ],
    );
    const own = { ...whose, record: fence };
    const silent = volumesOfUnknownOwner(facts, own);
    expect(silent.map(({ handle }) => handle)).toEqual(['anothers']);
    const kept = keepOwnVolumes(facts, silent, own, [held('anothers', 'm-2')]);
    expect(kept.volumes.map(({ handle }) => handle)).toEqual(['own', 'freed', 'wanted']);
    expect(kept.pods.map(({ name }) => name)).toEqual(['noted', 'of-own', 'of-both', 'unclear']);
    expect(kept).toEqual({ ...facts, volumes: kept.volumes, pods: kept.pods });
  });
});
