import { expect, it } from 'vitest';
import { readHints } from '../../../providers/gcp/events/read-hints.ts';

it('a call of Google Cloud whose only entry is the first and the last is a reason to look', () => {
  const read = readHints({
    protoPayload: { methodName: 'v1.compute.instances.stop', resourceName: 'projects/p-one/zones/z-a/instances/n-1' },
    operation: { id: 'o-1', first: true, last: true },
    insertId: 'e-1',
    timestamp: '2026-01-01T00:00:00Z',
  });
  expect([read.hints.length, read.ignored.length, read.faults.length]).toEqual([1, 0, 0]);
});
