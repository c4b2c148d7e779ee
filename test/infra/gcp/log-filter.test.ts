import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { logFilter } from '../../../infra/gcp/queues.ts';
import { readHints } from '../../../providers/gcp/events/read-hints.ts';
import { loggingQuery } from './logging-query.ts';

const folder = new URL('../../fixtures/gcp/', import.meta.url);
const entries = readdirSync(folder)
  .filter((name) => /^(?:audit|system)-/.test(name))
  .map((name): [string, unknown] => [name, JSON.parse(readFileSync(new URL(name, folder), 'utf8'))]);

const letsThrough = loggingQuery(logFilter);

describe('the filter of the log sink', () => {
  it.each(entries)('passes %s if and only if there is a reason to look at a machine', (name, entry) => {
    const hasFailed = name.includes('FAILED');
    expect({ name, through: letsThrough(entry) }).toEqual({
      name,
      through: hasFailed || readHints(entry).hints.length > 0,
    });
  });

  const SYSTEM_EVENTS = [
    'preempted',
    'hostError',
    'automaticRestart',
    'guestTerminate',
    'repair.recreateInstance',
    'deferredStop',
    'deferredDelete',
    'kmsKeyError',
    'localSsdInitializationError',
    'baremetalCaretakerPreempted',
    'somethingNew',
  ];
  it.each(SYSTEM_EVENTS)('passes the system event %s, and none of another service', (event) => {
    const entry = (type: string) => ({
      resource: { type },
      protoPayload: { methodName: `compute.instances.${event}` },
    });
    expect([letsThrough(entry('gce_instance')), letsThrough(entry('gce_disk'))]).toEqual([true, false]);
  });

  it.each([
    'v1.compute.instances.setLabels',
    'v1.compute.disks.delete',
    'v1xcompute.instances.stop',
    'compute.instances.migrateOnHostMaintenance',
    'compute.instances.reset',
    'compute.instanceGroupManagers.resize',
    'xcompute.instances.preempted',
  ])('blocks %s', (methodName) => {
    expect(
      letsThrough({ resource: { type: 'gce_instance' }, protoPayload: { methodName }, operation: { last: true } }),
    ).toBe(false);
  });

  it('has at most the 20,000 characters that a filter may have', () => expect(logFilter.length).toBeLessThan(20_000));
});
