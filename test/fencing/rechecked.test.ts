import { expect, it } from 'vitest';
import type { Recheck } from '../../fencing/model/cluster-facts.ts';
import { startRun } from '../../fencing/loop/state.ts';
import { reduce } from '../../fencing/loop/reduce.ts';
import type { Step } from '../../fencing/model/steps.ts';
import { targetNode } from '../../fencing/rules/mark.ts';
import { cluster, machine, marked, PARKED, record, view } from './view-builder.ts';

/** What is read again right before a destructive call. If it differs from the look, the call is not sent. */

const { request, policy, identityRules: reading, runId, now } = view();
const node = marked();
const known = reduce(
  startRun({
    request,
    policy,
    identityRules: reading,
    runId,
    deadline: now.mono + 60_000,
    location: { cluster: 'a', node: node.name },
  }),
  { do: 'look', machine: true, cluster: true, disks: true, search: false },
  {
    to: 'look',
    machine: { value: machine(), requestedAt: now, receivedAt: now.mono },
    cluster: { value: cluster({ node }), requestedAt: now, receivedAt: now.mono },
  },
  now,
);
const step: Step = { do: 'mark', node: targetNode(node), record: record(), addOutOfService: false };
const clearedBy = (change: Partial<Recheck>): boolean => {
  const says: Recheck = {
    uid: node.uid,
    recordText: node.recordText,
    taints: marked().taints,
    lease: null,
    ...change,
  };
  const place = { cluster: 'a', node: node.name };
  return (
    reduce(
      known,
      { do: 'recheck', location: place, node: node.name, step },
      { to: 'recheck', value: says, requestedAt: now, step: 'mark node-uid' },
      now,
    ).cleared?.step === 'mark node-uid'
  );
};

it.each([
  ['everything is as before', {}, true],
  ['our taint is gone', { taints: PARKED }, false],
  ['someone else’s taint has replaced ours', { taints: { outOfService: true, ours: false, quarantine: true } }, false],
  ['the quarantine is gone', { taints: { outOfService: true, ours: true, quarantine: false } }, false],
  ['someone has written the record', { recordText: '{}' }, false],
  ['another Node has the name', { uid: 'another' }, false],
])('%s', (_, change, expected) => expect(clearedBy(change)).toBe(expected));
