import { describe, expect, it } from 'vitest';
import type { Instance } from '../../../providers/gcp/disks.ts';
import { knownMachineFacts, missingMachineFacts, unknownMachineFacts } from '../../../providers/gcp/power.ts';

/** What Cloudfence reads from an answer of Compute Engine, field by field. */

const machine = 'projects/p/zones/europe-west1-b/instances/node-1';
const path = { project: 'p', zone: 'europe-west1-b', instance: 'node-1' };

const factsOf = (instance: Instance) => knownMachineFacts(machine, path, instance, null);

const times: Instance = {
  id: '7',
  creationTimestamp: '2026-11-01T00:00:00Z',
  lastStartTimestamp: '2026-11-02T00:00:00.000-08:00',
  lastStopTimestamp: '2026-11-03T00:00:00Z',
  lastSuspendedTimestamp: '2026-11-04T00:00:00Z',
  resourceStatus: { shutdownDetails: { requestTimestamp: '2026-11-05T00:00:00Z' } },
};

describe('the facts about an instance that Compute Engine knows', () => {
  it('are empty for an empty answer', () => {
    expect(factsOf({ id: '7' })).toEqual({
      machine,
      incarnation: { id: '7', made: null },
      power: 'unknown',
      forGood: false,
      generation: null,
      since: null,
      nodeNames: ['node-1', 'node-1.europe-west1-b.c.p.internal', 'node-1.c.p.internal'],
      clusters: [],
      zone: 'europe-west1-b',
      disks: [],
      evidence: {
        status: 'none',
        id: '7',
        created: 'none',
        lastStart: 'none',
        lastStop: 'none',
        readFrom: 'compute.instances.get',
      },
    });
  });

  it.each([
    ['RUNNING', Date.UTC(2026, 10, 2, 8)],
    ['STOPPED', Date.UTC(2026, 10, 3)],
    ['TERMINATED', Date.UTC(2026, 10, 3)],
    ['SUSPENDED', Date.UTC(2026, 10, 4)],
    ['PENDING_STOP', Date.UTC(2026, 10, 5)],
    ['STOPPING', Date.UTC(2026, 10, 5)],
    ['SUSPENDING', null],
    ['STAGING', null],
    ['REPAIRING', null],
  ])('contain since when an instance is %s only from the time of that state', (status, since) => {
    expect(factsOf({ ...times, status }).since).toBe(since);
    expect(factsOf({ id: '7', status }).since).toBeNull();
    expect(factsOf({ id: '7', status, resourceStatus: {} }).since).toBeNull();
  });

  it('contain no time from a text that is not a time', () => {
    expect(factsOf({ ...times, status: 'RUNNING', lastStartTimestamp: 'yesterday' }).since).toBeNull();
    expect(factsOf({ ...times, creationTimestamp: '' }).incarnation).toEqual({ id: '7', made: null });
  });

  it('distinguish boots by the id and the last start, or by the creation before the first start', () => {
    expect(factsOf(times).generation).toBe('7 2026-11-02T00:00:00.000-08:00');
    expect(factsOf({ ...times, lastStartTimestamp: '' }).generation).toBe('7 2026-11-01T00:00:00Z');
    expect(factsOf({ ...times, lastStartTimestamp: null }).generation).toBe('7 2026-11-01T00:00:00Z');
    expect(factsOf({ ...times, id: '8' }).generation).not.toBe(factsOf(times).generation);
  });

  it('tell one suspension from another although nothing else has changed', () => {
    const suspended = { ...times, status: 'SUSPENDED', lastSuspendedTimestamp: '2026-11-04T00:00:00Z' };
    expect(factsOf(suspended).generation).toBe('7 2026-11-02T00:00:00.000-08:00 suspended 2026-11-04T00:00:00Z');
    expect(factsOf({ ...suspended, lastSuspendedTimestamp: '' }).generation).toBe(
      '7 2026-11-02T00:00:00.000-08:00 suspended at an unknown time',
    );
    expect(factsOf({ ...suspended, lastStartTimestamp: '', creationTimestamp: '' }).generation).toBeNull();
    expect(factsOf({ ...suspended, status: 'RUNNING' }).generation).toBe(factsOf(times).generation);
  });

  it('carry what the API said as evidence', () => {
    expect(factsOf({ ...times, status: 'RUNNING' }).evidence).toEqual({
      status: 'RUNNING',
      id: '7',
      created: '2026-11-01T00:00:00Z',
      lastStart: '2026-11-02T00:00:00.000-08:00',
      lastStop: '2026-11-03T00:00:00Z',
      readFrom: 'compute.instances.get',
    });
    expect(factsOf({ ...times, status: '', lastStopTimestamp: '' }).evidence).toMatchObject({
      status: 'none',
      lastStop: 'none',
    });
  });
});

describe('the facts about a name that Compute Engine does not know', () => {
  it('prove nothing', () => {
    expect(missingMachineFacts(machine, path)).toMatchObject({
      machine,
      power: 'missing',
      forGood: false,
      generation: null,
      zone: 'europe-west1-b',
      evidence: { status: 'not found', readFrom: 'compute.instances.get' },
    });
    expect(unknownMachineFacts('node-1')).toMatchObject({
      machine: 'node-1',
      power: 'unknown',
      forGood: false,
      generation: null,
      evidence: { status: 'malformed path' },
    });
  });
});
