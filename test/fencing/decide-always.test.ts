import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isOfShownBoot } from '../../fencing/model/cluster-facts.ts';
import { podsToDelete, podsWanting } from '../../fencing/rules/pods.ts';
import { decide } from '../../fencing/rules/decide.ts';
import { type Step, stepProperties } from '../../fencing/model/steps.ts';
import type { View } from '../../fencing/rules/view.ts';
import { anyView } from './any-view.ts';
import { runsOf } from '../thorough.ts';
import { machineOf } from './view-builder.ts';

/** Checks a statement against every step that `decide` takes in any situation, and makes sure that such steps occur. */
const always = (kind: (step: Step) => boolean, holds: (view: View, step: Step) => boolean): number => {
  let seen = 0;
  const property = fc.property(anyView, (view) => {
    const decision = decide(view);
    if (decision.do !== 'step' || !kind(decision.step)) return true;
    seen += 1;
    return holds(view, decision.step);
  });
  fc.assert(property, { numRuns: runsOf(30_000), seed: 7 });
  return seen;
};

const isDestructive = (step: Step): boolean => stepProperties[step.do].destructive;

const is =
  <K extends Step['do']>(...kinds: K[]) =>
  (step: Step): step is Extract<Step, { do: K }> =>
    (kinds as string[]).includes(step.do);

const proven = ({ machine, memory, machineRequestedAt }: View): boolean =>
  machine.power === 'off' ||
  (machine.power === 'off-if-repeated' &&
    memory.firstOff !== null &&
    machineRequestedAt - memory.firstOff.mono >= 10_000) ||
  (machine.power === 'missing' && memory.witness === 'released');

it('nothing is destroyed without proof that the machine is off', () => {
  const destroys = (step: Step) => isDestructive(step) && step.do !== 'power-off';
  expect(always(destroys, (view) => proven(view))).toBeGreaterThan(runsOf(500));
});

it('nothing is destroyed on a Node that does not name the machine, or that names another machine', () => {
  const named = ({ cluster }: View) => (cluster.node?.identitySources ?? []).map(machineOf).filter((id) => id !== null);
  const ours = (view: View) =>
    view.cluster.node === null || (named(view).length > 0 && named(view).every((id) => id === 'm-1'));
  expect(always(isDestructive, ours)).toBeGreaterThan(runsOf(500));
});

it('no text for people contains the code off-if-repeated', () => {
  let seen = 0;
  fc.assert(
    fc.property(anyView, (view) => {
      const decision = decide(view);
      if (!('because' in decision)) return;
      seen += 1;
      expect(decision.because.says).not.toContain('off-if-repeated');
    }),
    { numRuns: runsOf(30_000), seed: 7 },
  );
  expect(seen).toBeGreaterThan(runsOf(500));
});

it('nothing is done while paused', () => {
  const lifts = is('lift-out-of-service');
  const pausedNowhere = ({ policy, cluster }: View) => policy.paused === null && cluster.surroundings.paused === null;
  expect(
    always(
      () => true,
      (view, step) => pausedNowhere(view) || (lifts(step) && (lifted(view) || outlived(view) || freedAll(view))),
    ),
  ).toBeGreaterThan(runsOf(500));
});

/** The machine may write, and our taint is on its Node. */
const lifted = ({ cluster, machine }: View): boolean =>
  cluster.node?.taints.ours === true && ['running', 'starting', 'stopping', 'suspended'].includes(machine.power);

/** The Node has shown another boot since our taint was set. */
const outlived = ({ cluster: { node } }: View): boolean =>
  node?.taints.ours === true && node.taintedFor !== null && !isOfShownBoot(node.taintedFor, node);

/** Our taint has nothing left to free: a pod that stays keeps each volume that is attached. */
const freedAll = (view: View): boolean => {
  const { node, volumes } = view.cluster;
  const isKept = (key: string): boolean => podsWanting(view, key).some((pod) => !podsToDelete(view).includes(pod));
  return node?.taints.ours === true && volumes.every(({ attachment, key }) => attachment === null || isKept(key));
};

it('our out-of-service taint is removed first if the machine is not off or has booted again', () => {
  fc.assert(
    fc.property(anyView, (view) => {
      const goes = (lifted(view) && view.request.vouched === null) || outlived(view);
      if (!goes || (view.cluster.node?.record?.machine ?? 'm-1') !== 'm-1') return;
      expect(decide(view)).toMatchObject({ do: 'step', step: { do: 'lift-out-of-service' } });
      const late = decide({ ...view, memory: { ...view.memory, markIsNew: true } });
      expect(late.do).toBe(outlived(view) ? 'step' : 'reread');
    }),
    { numRuns: runsOf(30_000), seed: 7 },
  );
});

it('a release never destroys anything', () => {
  const harmless = (view: View, step: Step) => view.request.intent !== 'release' || !isDestructive(step);
  expect(always(() => true, harmless)).toBeGreaterThan(runsOf(500));
});

it('no pod, attachment or disk is touched before the Node is marked for this boot', () => {
  const touches = is('fail-pod', 'delete-pod', 'delete-attachment', 'detach-disk', 'delete-node');
  const markedNow = ({ cluster: { node }, machine }: View) =>
    node === null ||
    (node.record?.machine === 'm-1' &&
      node.record.bootID === node.bootID &&
      (machine.generation === null || node.record.generation === machine.generation));
  expect(always(touches, markedNow)).toBeGreaterThan(runsOf(150));
});

it('a VolumeAttachment is deleted only if it is this machine’s, unwanted, and not under a reused Node name', () => {
  const allowed = ({ cluster }: View, step: Step) => {
    const volume = cluster.volumes.find(
      (other) => step.do === 'delete-attachment' && other.attachment?.uid === step.attachment.uid,
    );
    const wanted = cluster.pods.some((pod) => !pod.finished && volume && pod.volumes.includes(volume.key));
    const source = volume?.attachment?.source;
    return volume?.nameTaken === false && !wanted && ['m-1', null].includes(source ? machineOf(source) : null);
  };
  expect(always(is('delete-attachment'), allowed)).toBeGreaterThan(runsOf(5));
});

it('a disk is detached only from this machine, for a PersistentVolume of the Node, and never if it must stay', () => {
  const allowed = ({ cluster, machine }: View, step: Step) => {
    if (step.do !== 'detach-disk') return false;
    const held = machine.disks.find((disk) => disk.disk === step.disk);
    const named = cluster.volumes.some((volume) => volume.handle === step.disk && volume.persistentVolume !== null);
    return step.from.machine === 'm-1' && held?.keep === null && named;
  };
  expect(always(is('detach-disk'), allowed)).toBeGreaterThan(runsOf(20));
});

it('mirror pods are never touched, and neither are pods that tolerate the taint and that no one else deletes', () => {
  const allowed = ({ cluster }: View, step: Step) => {
    const pods = cluster.pods.filter((pod) => 'pod' in step && pod.uid === step.pod.uid);
    return pods.some((pod) => pod.kind !== 'mirror' && (!pod.tolerates || pod.deleting));
  };
  expect(always(is('fail-pod', 'delete-pod'), allowed)).toBeGreaterThan(runsOf(100));
});

it('a fence is released only if the machine runs and its Node shows another boot, or if a person confirms it', () => {
  const allowed = ({ cluster, machine, request }: View) =>
    request.accepted !== null || (machine.power === 'running' && cluster.node?.bootID !== cluster.node?.record?.bootID);
  expect(always(is('release-node'), allowed)).toBeGreaterThan(runsOf(20));
});
