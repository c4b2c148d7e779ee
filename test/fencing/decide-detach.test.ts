import { describe, expect, it } from 'vitest';
import type { AttachmentFacts, VolumeFacts } from '../../fencing/model/cluster-facts.ts';
import type { DiskAttachment, VolumeHandle } from '../../fencing/model/machine.ts';
import { defaultPolicy, timing } from '../../fencing/model/policy.ts';
import { decide } from '../../fencing/rules/decide.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { ago, attachment, cluster, diskOf, machine, marked, NOW, pod, view, volume } from './view-builder.ts';

/** Each condition of the detach and of the nudge, one by one. */

const always = { policy: { ...defaultPolicy, detach: 'always' } } as const;
const disk = (name: string, state: DiskAttachment['state'] = 'attached'): DiskAttachment => ({
  disk: name,
  state,
  keep: null,
});
const fencing = (change: Partial<View['cluster']>, rest: Partial<View> = {}): View =>
  view({ cluster: cluster({ node: marked(), pods: [], ...change }), ...rest });
const remembering = (memory: Partial<View['memory']>) => ({ memory: { ...view().memory, ...memory } });
const deleting = volume({ attachment: attachment({ deletingSince: NOW - 60_000 }) });

describe('a detach', () => {
  it('frees the disk of the volume, and no other disk of the machine', () => {
    const disks = [disk('disk-9'), disk('disk-1')];
    expect(decide(fencing({ volumes: [deleting] }, { machine: machine({ disks }) }))).toMatchObject({
      step: { do: 'detach-disk', disk: 'disk-1' },
      because: { code: 'disk-still-attached' },
    });
  });

  const kept = new Map([['delete-attachment va-uid', 'webhook']]);
  const asked = (forced: number) =>
    remembering({
      takenAt: new Map([
        ['detach-disk m-1 disk-1 plain', -60_000],
        ['detach-disk m-1 disk-1 forced', 1_000 - forced],
      ]),
    });
  it.each([
    [
      'waits for the deletion of an attachment, even if the Node is gone',
      fencing({ node: null, volumes: [volume()] }, { ...always, ...remembering({ declined: kept }) }),
      'wait attachments-going',
    ],
    [
      'waits for the deletion of an attachment if another machine uses the Node name, while the Node exists',
      fencing({ volumes: [volume({ nameTaken: true })] }, always),
      'wait disks-going',
    ],
    [
      'is not forced again right after it was forced',
      fencing({ volumes: [deleting] }, asked(timing.plainDetach - 1)),
      'wait attachments-going',
    ],
    ['is forced again after a while', fencing({ volumes: [deleting] }, asked(timing.plainDetach)), 'detach-disk'],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  const declined = (mode: string, state: DiskAttachment['state']): View =>
    fencing(
      { node: marked({ released: ago(1_000) }), volumes: [volume({ attachment: null })] },
      {
        machine: machine({ disks: [disk('disk-1', state)] }),
        ...remembering({ declined: new Map([[`detach-disk m-1 disk-1 ${mode}`, 'protected']]) }),
      },
    );
  it.each([
    ['is not waited for if the cloud declined to force it', declined('forced', 'detaching'), 'failed step-refused'],
    [
      'is not waited for if the cloud declined it and nobody else detaches the disk',
      declined('plain', 'attached'),
      'failed step-refused',
    ],
    [
      'is waited for if the cloud declined it but somebody else detaches the disk',
      declined('plain', 'detaching'),
      'wait disks-going',
    ],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('a detach of a disk that two PersistentVolumes name', () => {
  const other = (change: Partial<VolumeFacts>): VolumeFacts =>
    volume({
      handle: 'DISK-1',
      key: 'a-driver^DISK-1',
      persistentVolume: 'pv-2',
      pvc: 'default/other',
      attachmentName: 'csi-2',
      attachment: attachment({ name: 'csi-2', uid: 'va-2', attached: true }),
      ...change,
    });
  const identityRules = {
    ...view().identityRules,
    diskOf: ({ driver, handle }: VolumeHandle) => diskOf({ driver, handle: handle.toLowerCase() }),
  };
  const released = volume({ attachment: null });
  const staying = pod({ name: 'agent', uid: 'agent', tolerates: true, volumes: ['a-driver^DISK-1'] });
  const both = (change: Partial<View['cluster']>): View =>
    fencing({ node: marked({ released: ago(1_000), phase: 'fenced' }), ...change }, { ...always, identityRules });

  it.each([
    ['frees it once Kubernetes has released both', { volumes: [released, other({ attachment: null })] }, 'detach-disk'],
    [
      'leaves it to a pod that stays and uses it through the other one',
      { volumes: [released, other({})], pods: [staying] },
      'fenced fenced',
    ],
    [
      'waits until Kubernetes has released the other one',
      { node: marked(), volumes: [released, other({})] },
      'wait attachments-going',
    ],
    [
      'does not wait for another disk, which a pod that stays still uses',
      {
        volumes: [released, other({ handle: 'DISK-2', key: 'a-driver^DISK-2' })],
        pods: [{ ...staying, volumes: ['a-driver^DISK-2'] }],
      },
      'detach-disk',
    ],
    [
      'does not wait for one that only a kubelet names',
      { volumes: [released, other({ attachment: null, persistentVolume: null, pvc: null })] },
      'detach-disk',
    ],
  ])('%s', (_, given, expected) => expect(said(both(given))).toBe(expected));

  it('is requested once', () =>
    expect(decide(both({ volumes: [released, other({ attachment: null })] }))).toMatchObject({ alongside: [] }));
});

describe('a nudge', () => {
  const free = { machine: machine({ disks: [] }) };
  const failed = { deletingSince: NOW - 20_000, detachError: 'throttled' };
  const old = (change: Partial<AttachmentFacts> = {}) => volume({ attachment: attachment({ ...failed, ...change }) });
  const next = (change: Partial<AttachmentFacts>) =>
    volume({
      attachment: null,
      successor: attachment({ name: 'csi-new', uid: 'new', attached: false, attachError: 'in use', ...change }),
    });
  const toNew = { name: 'csi-new', uid: 'new' };

  it.each([
    ['old', old(), { name: 'csi-1', uid: 'va-uid' }, true, 'attacher-in-back-off'],
    ['new', next({}), toNew, true, 'attacher-in-back-off'],
    ['new, from which it is removed', next({ nudged: true, attached: true }), toNew, false, 'attacher-nudged'],
  ])('goes to the attachment: %s', (_, of, target, on, code) => {
    expect(decide(fencing({ volumes: [of] }, free))).toMatchObject({
      step: { do: 'nudge', attachment: target, on },
      because: { code },
    });
  });

  it('goes to the volume that needs it, and skips others', () => {
    const idle = volume({ handle: 'disk-2', key: 'a-driver^disk-2', attachmentName: 'csi-2', attachment: null });
    expect(said(fencing({ volumes: [idle, old()] }, free))).toBe('nudge');
  });

  const nudged = (ago: number) => ({
    ...free,
    ...remembering({ takenAt: new Map([['nudge va-uid on', 1_000 - ago]]) }),
  });
  it.each([
    ['is repeated after a while', fencing({ volumes: [old()] }, nudged(timing.nudge)), 'nudge'],
    ['is not repeated before that', fencing({ volumes: [old()] }, nudged(timing.nudge - 1)), 'wait attachments-going'],
    [
      'does not go to an attachment that nobody deletes, even if its driver failed before',
      fencing({ volumes: [old({ deletingSince: null })] }, free),
      'wait attachments-going',
    ],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('an attachment that no pod wants', () => {
  const lingering = (change: Partial<AttachmentFacts>, memory: Partial<View['memory']> = {}): View =>
    fencing(
      { volumes: [volume({ attachment: attachment(change) })] },
      remembering({ unwanted: new Map([['a-driver^disk-1', 1_000 - timing.attachmentLingers]]), ...memory }),
    );
  const key = 'delete-attachment va-uid';
  it.each([
    ['is deleted after a while', lingering({}), 'delete-attachment'],
    ['is not deleted if someone else already deletes it', lingering({ deletingSince: NOW }), 'wait attachments-going'],
    ['is not deleted twice between two looks', lingering({}, { sinceLook: new Set([key]) }), 'wait attachments-going'],
    [
      'is not deleted if the API server declined the deletion',
      lingering({}, { declined: new Map([[key, 'webhook']]) }),
      'wait attachments-going',
    ],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});
