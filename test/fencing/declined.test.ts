import { describe, expect, it } from 'vitest';
import { notActed } from '../../fencing/acted.ts';
import { decide } from '../../fencing/decide.ts';
import { Denied, Refused, type CloudfenceError } from '../../fencing/errors.ts';
import { begin, type Known } from '../../fencing/known.ts';
import { said } from './said.ts';
import { ago, cluster, machine, marked, pod, view, volume } from './view-builder.ts';

const why = 'DELETE /api/v1/namespaces/default/pods/db-0 was answered with: not by you';
const db = pod({ name: 'db-0', uid: 'pod-uid', volumes: [] });
const given = view({ cluster: cluster({ node: marked(), pods: [db], volumes: [] }), machine: machine({ disks: [] }) });
const { request, policy, reading, runId, now } = given;
const start = begin({ request, policy, reading, runId, deadline: now.mono + 60_000 });
const decision = decide(given);

/** What the run knows once its delete of the pod has been declined so often. */
const declined = (times: number, error: CloudfenceError): Known => {
  if (decision.do !== 'step') throw new Error('a pod is to be deleted');
  const act = { step: decision.step, because: decision.because };
  return Array.from({ length: times }).reduce<Known>((known) => notActed(known, act, error, now, now), start);
};

describe('a fence whose delete of a pod is declined', () => {
  it.each([
    ['forbidden once', 1, new Denied(why)],
    ['refused time and again', 6, new Refused(why)],
  ])('fails in the end, and names the pod and what was said (%s)', (_, times, error) => {
    const end = decide({ ...given, cluster: { ...given.cluster, node: marked({ released: ago(1_000) }) }, memory: declined(times, error).memory });
    expect(end).toMatchObject({ do: 'end', outcome: 'failed', because: { code: 'step-refused', says: `declined: pod/default/db-0: ${why}` } });
  });

  it('tries again what was refused for a moment', () => {
    expect(decide({ ...given, memory: declined(5, new Refused(why)).memory })).toEqual(decision);
  });
});

describe('a fence whose detach is declined', () => {
  const detached = { 'a-driver^disk-1': 0 };
  const memory = { ...view().memory, unwanted: new Map(Object.entries(detached)), declined: new Map([['detach-disk m-1 disk-1 plain', `disk/disk-1: ${why}`]]) };
  const free = (node: ReturnType<typeof marked>) => decide(view({ memory, now: { ...now, mono: 1_000_000 }, cluster: cluster({ node, pods: [], volumes: [volume({ attachment: null })] }) }));

  it('takes its taint off, and fails by name, instead of waiting for ever', () => {
    expect(free(marked())).toMatchObject({ do: 'step', step: { do: 'park', record: { phase: 'fencing' } } });
    expect(free(marked({ released: ago(1_000) }))).toMatchObject({ do: 'end', outcome: 'failed', because: { says: `declined: disk/disk-1: ${why}` } });
  });
});

it('a pod that may not be failed, and that only its finalizer holds, is passed by', () => {
  const held = pod({ kind: 'job', deleting: true, finalizers: true, volumes: [] });
  const memory = { ...view().memory, declined: new Map([['fail-pod pod-uid', 'forbidden']]), sinceLook: new Set(['delete-pod pod-uid']) };
  expect(said(view({ memory, machine: machine({ disks: [] }), cluster: cluster({ pods: [held], volumes: [], node: marked({ released: ago(1_000) }) }) }))).toBe('failed step-refused');
});
