import { describe, expect, it } from 'vitest';
import { clusterAfter } from '../../fencing/loop/facts-after-step.ts';
import { targetNode } from '../../fencing/rules/mark.ts';
import { cluster, marked, node, record } from './view-builder.ts';

/** What a step leaves on its Node, without another look. */

const tombstone = { fence: 'run.1', boot: 'a boot' };

describe('the facts after a step', () => {
  it('have no label once the trace of a fence is removed, so that a dry run does not remove it again', () => {
    const before = node({ label: 'run.1_removed_x', tombstone });
    const after = clusterAfter(cluster({ node: before }), {
      do: 'set-tombstone',
      node: targetNode(before),
      tombstone: null,
    });
    expect(after.node).toMatchObject({ label: null, tombstone: null });
  });

  it('keep the label of a tombstone', () => {
    const before = node({ label: 'run.1' });
    const after = clusterAfter(cluster({ node: before }), {
      do: 'set-tombstone',
      node: targetNode(before),
      tombstone,
    });
    expect(after.node).toMatchObject({ label: 'run.1', tombstone });
  });

  it('have a record of Cloudfence again, although a kubelet had changed it', () => {
    const before = marked({}, { unmatchedSeal: 'of the record before', record: null });
    const written = record({ phase: 'fenced' });
    const after = clusterAfter(cluster({ node: before }), { do: 'note', node: targetNode(before), record: written });
    expect(after.node).toMatchObject({ unmatchedSeal: null, record: written });
  });
});
