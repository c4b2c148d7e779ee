import { describe, expect, it } from 'vitest';
import { applyStepError } from '../../fencing/loop/apply-step.ts';
import { decide } from '../../fencing/rules/decide.ts';
import { PermissionDenied, Refused, type CloudfenceError } from '../../fencing/model/errors.ts';
import { startRun, type RunState } from '../../fencing/loop/state.ts';
import { reduce } from '../../fencing/loop/reduce.ts';
import { nextCommand } from '../../fencing/loop/next-command.ts';
import { because } from '../../fencing/model/reason.ts';
import { said } from './said.ts';
import { ago, attachment, cluster, machine, marked, NOW, PARKED, pod, view, volume } from './view-builder.ts';

const why = 'DELETE /api/v1/namespaces/default/pods/db-0 returned: not by you';
const db = pod({ name: 'db-0', uid: 'pod-uid', volumes: [] });
const given = view({ cluster: cluster({ node: marked(), pods: [db], volumes: [] }), machine: machine({ disks: [] }) });
const { request, policy, identityRules: reading, runId, now } = given;
const start = startRun({ request, policy, identityRules: reading, runId, deadline: now.mono + 60_000 });
const decision = decide(given);

/** What the run knows after its delete of the pod failed with this error this many times. */
const declined = (times: number, error: CloudfenceError): RunState => {
  if (decision.do !== 'step') throw new Error('a pod is to be deleted');
  const act = { step: decision.step, because: decision.because };
  return Array.from({ length: times }).reduce<RunState>((known) => applyStepError(known, act, error, now, now), start);
};

describe('a fence whose delete of a pod is declined', () => {
  it.each([
    ['forbidden once', 1, new PermissionDenied(why)],
    ['refused six times', 6, new Refused(why)],
  ])('fails in the end, and names the pod and the reason (%s)', (_, times, error) => {
    const end = decide({
      ...given,
      cluster: { ...given.cluster, node: marked({ released: ago(1_000) }) },
      memory: declined(times, error).memory,
    });
    expect(end).toMatchObject({
      do: 'end',
      outcome: 'failed',
      because: { code: 'step-refused', says: `declined: pod/default/db-0: ${why}` },
    });
  });

  it('fails before the Node of a machine that is gone for good is deleted', () => {
    const parked = marked({ released: ago(1_000) }, { taints: PARKED, taintedFor: null });
    const { memory } = declined(1, new PermissionDenied(why));
    const gone = machine({ forGood: true, disks: [] });
    expect(said({ ...given, machine: gone, cluster: { ...given.cluster, node: parked }, memory })).toBe(
      'failed step-refused',
    );
  });

  it('ends normally if someone else has deleted the pod', () => {
    const { memory } = declined(1, new PermissionDenied(why));
    const gone = { ...given.cluster, pods: [] };
    expect(decide({ ...given, memory, cluster: gone })).toMatchObject({
      do: 'step',
      step: { do: 'park', record: { phase: 'fenced' } },
    });
    const node = marked({ phase: 'fenced', released: ago(1_000) });
    expect(said({ ...given, memory, cluster: { ...gone, node } })).toBe('fenced fenced');
    expect(said({ ...given, memory, cluster: { ...gone, node }, machine: machine({ forGood: true, disks: [] }) })).toBe(
      'delete-node',
    );
    expect(said({ ...given, memory, cluster: { ...gone, node: null } })).toMatch(/^(fenced|ignored) /);
  });

  it('retries a delete that was refused fewer than six times', () => {
    expect(decide({ ...given, memory: declined(5, new Refused(why)).memory })).toEqual(decision);
  });
});

describe('a fence whose detach is declined', () => {
  const detached = { 'a-driver^disk-1': 0 };
  const memory = {
    ...view().memory,
    unwanted: new Map(Object.entries(detached)),
    declined: new Map([['detach-disk m-1 disk-1 plain', `disk/disk-1: ${why}`]]),
  };
  const free = (node: ReturnType<typeof marked>) =>
    decide(
      view({
        memory,
        now: { ...now, mono: 1_000_000 },
        cluster: cluster({ node, pods: [], volumes: [volume({ attachment: null })] }),
      }),
    );

  it('removes its taint, and fails with the disk and the reason instead of waiting forever', () => {
    expect(free(marked())).toMatchObject({ do: 'step', step: { do: 'park', record: { phase: 'fencing' } } });
    expect(free(marked({ released: ago(1_000) }))).toMatchObject({
      do: 'end',
      outcome: 'failed',
      because: { says: `declined: disk/disk-1: ${why}` },
    });
  });

  it('ends normally if someone else has detached the disk', () => {
    const freed = cluster({ node: marked(), pods: [], volumes: [volume({ attachment: null })] });
    expect(decide(view({ memory, machine: machine({ disks: [] }), cluster: freed }))).toMatchObject({
      do: 'step',
      step: { do: 'park', record: { phase: 'fenced' } },
    });
  });

  describe('while the attachment is still being deleted', () => {
    const going = cluster({
      node: marked(),
      pods: [],
      volumes: [volume({ attachment: attachment({ deletingSince: NOW - 200_000 }) })],
    });
    const looked = { requestedAt: now, receivedAt: now.mono };
    const off = { ...memory, firstOff: { ...now, generation: 'boot-1' }, lease: null, leaseSince: now.mono };
    const waiting: RunState = {
      ...start,
      location: { cluster: 'a', node: 'node-a' },
      memory: off,
      record: marked().record,
      machine: { value: machine(), ...looked },
      cluster: { value: going, ...looked },
    };
    const denial = {
      do: 'end',
      ending: {
        outcome: 'failed',
        retry: true,
        lookAgainIn: expect.any(Number),
        reason: {
          code: 'step-refused',
          says: expect.stringMatching(/declined: disk\/disk-1: DELETE .*not by you.*Kubernetes detaches 1 volume/),
        },
      },
    };

    it('keeps waiting, because the driver may still detach the disk', () =>
      expect(nextCommand(waiting, now)).toMatchObject({ do: 'sleep', because: { code: 'attachments-going' } }));

    it('names the denial next to what it waits for when the time of the run is up', () => {
      expect(nextCommand({ ...waiting, deadline: now.mono + 10 }, now)).toMatchObject(denial);
      const paused = reduce(
        waiting,
        { do: 'sleep', ms: 10, because: because('attachments-going', 'Kubernetes detaches 1 volume'), until: null },
        { to: 'sleep', polls: 0 },
        now,
      );
      expect(nextCommand(paused, { ...now, mono: paused.deadline })).toMatchObject(denial);
    });

    it('does not mention the denial once someone else has detached the disk', () => {
      const freed: RunState = { ...waiting, machine: { value: machine({ disks: [] }), ...looked } };
      expect(nextCommand({ ...freed, deadline: now.mono + 10 }, now)).toMatchObject({
        ending: { outcome: 'waiting', retry: false },
      });
    });

    it('does not mention the denial if the machine runs again, because nothing is to be detached then', () => {
      const up: RunState = {
        ...waiting,
        machine: null,
        cluster: null,
        memory: { ...off, firstOff: null },
        pending: { outcome: 'waiting', reason: because('return-unproven', 'it boots'), ms: 10 },
      };
      expect(nextCommand(up, { ...now, mono: up.deadline })).toMatchObject({
        ending: { outcome: 'waiting', retry: false },
      });
    });
  });
});

it('a pod is not waited for if the API server declined to fail it and only its finalizer holds it', () => {
  const held = pod({ kind: 'job', deleting: true, finalizers: true, volumes: [] });
  const memory = {
    ...view().memory,
    declined: new Map([['fail-pod pod-uid', 'forbidden']]),
    sinceLook: new Set(['delete-pod pod-uid']),
  };
  expect(
    said(
      view({
        memory,
        machine: machine({ disks: [] }),
        cluster: cluster({ pods: [held], volumes: [], node: marked({ released: ago(1_000) }) }),
      }),
    ),
  ).toBe('failed step-refused');
});
