import { expect, it } from 'vitest';
import { ProofExpired } from '../../../fencing/model/errors.ts';
import type { ClusterStep } from '../../../fencing/model/steps.ts';
import { expired } from '../../permits.ts';
import type { Meta, ClusterHarness } from './harness.ts';
import { ATTACHMENTS, PODS, fresh, granted, makeAttachment, makePod, unhurried } from './harness.ts';

const podTarget = ({ name, uid }: Meta) => ({ namespace: 'default', name, uid });

export const applyOtherCases = (harness: () => ClusterHarness): void => {
  const apply = (step: ClusterStep) => harness().cluster.apply(step, granted, unhurried());
  const statusAt = async (path: string) => (await harness().admin('GET', path)).status;

  it('deletes a pod at once, whatever its grace period', async () => {
    const pod = await makePod(harness(), fresh('node'), { terminationGracePeriodSeconds: 300 });
    expect(await apply({ do: 'delete-pod', pod: podTarget(pod) })).toBe('done');
    expect(await statusAt(`${PODS}/${pod.name}`)).toBe(404);
    expect(await apply({ do: 'delete-pod', pod: podTarget(pod) })).toBe('already');
  });

  it('does not touch a later pod of the same name', async () => {
    const pod = await makePod(harness(), fresh('node'));
    expect(await apply({ do: 'delete-pod', pod: { ...podTarget(pod), uid: 'the-old-one' } })).toBe('already');
    expect(await apply({ do: 'fail-pod', pod: { ...podTarget(pod), uid: 'the-old-one' } })).toBe('already');
    const { body } = await harness().admin('GET', `${PODS}/${pod.name}`);
    expect(body).toMatchObject({ metadata: { uid: pod.uid }, status: { phase: 'Pending' } });
    expect(body.metadata.deletionTimestamp).toBeUndefined();
  });

  it('fails a pod once, and writes the reason', async () => {
    const pod = await makePod(harness(), fresh('node'));
    expect(await apply({ do: 'fail-pod', pod: podTarget(pod) })).toBe('done');
    const { body } = await harness().admin('GET', `${PODS}/${pod.name}`);
    expect(body['status']).toMatchObject({ phase: 'Failed', reason: 'NodeFenced' });
    expect(await apply({ do: 'fail-pod', pod: podTarget(pod) })).toBe('already');
    expect(await apply({ do: 'fail-pod', pod: { ...podTarget(pod), name: fresh('gone') } })).toBe('already');
  });

  it('deletes an attachment once, and does not touch a later one of the same name', async () => {
    const { name, uid } = await makeAttachment(harness(), fresh('csi'), fresh('node'), 'data');
    expect(await apply({ do: 'delete-attachment', attachment: { name, uid: 'the-old-one' } })).toBe('already');
    expect(await statusAt(`${ATTACHMENTS}/${name}`)).toBe(200);
    expect(await apply({ do: 'delete-attachment', attachment: { name, uid } })).toBe('done');
    expect(await statusAt(`${ATTACHMENTS}/${name}`)).toBe(404);
    expect(await apply({ do: 'delete-attachment', attachment: { name, uid } })).toBe('already');
  });

  it('does not nudge an attachment after the permit has ended', async () => {
    const { name, uid } = await makeAttachment(harness(), fresh('csi'), fresh('node'), 'data');
    const step = { do: 'nudge', attachment: { name, uid }, on: true } as const;
    await expect(harness().cluster.apply(step, expired, unhurried())).rejects.toThrow(ProofExpired);
    const { metadata } = (await harness().admin('GET', `${ATTACHMENTS}/${name}`)).body;
    expect(metadata.annotations).toBeUndefined();
  });

  it('nudges an attachment, removes the nudge, and touches no other attachment', async () => {
    const { name, uid } = await makeAttachment(harness(), fresh('csi'), fresh('node'), 'data');
    const annotation = async () =>
      (await harness().admin('GET', `${ATTACHMENTS}/${name}`)).body.metadata.annotations?.['cloudfence.dev/nudge'];
    expect(await apply({ do: 'nudge', attachment: { name, uid }, on: true })).toBe('done');
    expect(Date.parse((await annotation()) ?? '')).toBeGreaterThan(0);
    expect(await apply({ do: 'nudge', attachment: { name, uid }, on: false })).toBe('done');
    expect(await annotation()).toBeUndefined();
    await expect(apply({ do: 'nudge', attachment: { name, uid: 'the-old-one' }, on: true })).rejects.toMatchObject({
      name: 'Refused',
      cause: expect.any(Error),
    });
    expect(await annotation()).toBeUndefined();
    expect(await apply({ do: 'nudge', attachment: { name: fresh('gone'), uid }, on: true })).toBe('already');
  });
};
