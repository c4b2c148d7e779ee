import { describe, expect, it } from 'vitest';
import {
  PermissionDenied,
  InvalidConfiguration,
  Unavailable,
  type CloudfenceError,
} from '../../fencing/model/errors.ts';
import { startRun, type RunState } from '../../fencing/loop/state.ts';
import { reduce } from '../../fencing/loop/reduce.ts';
import type { Command } from '../../fencing/loop/command.ts';
import { nextCommand } from '../../fencing/loop/next-command.ts';
import { cluster, machine, marked, view } from './view-builder.ts';

const { request, policy, identityRules: reading, runId, now } = view();
const start = startRun({
  request,
  policy,
  identityRules: reading,
  runId,
  deadline: now.mono + 60_000,
  location: { cluster: 'a', node: 'node-a' },
});
const look: Extract<Command, { do: 'look' }> = { do: 'look', machine: true, cluster: true, disks: true, search: false };

const denied = (known: RunState, command: Command): RunState =>
  reduce(known, command, { to: 'failed', error: new PermissionDenied('GET /api/v1/nodes/node-a returned 403') }, now);

/** A run that has completed one look, so every call was allowed then. */
const lookedOnce = reduce(
  start,
  look,
  {
    to: 'look',
    machine: { value: machine(), requestedAt: now, receivedAt: now.mono },
    cluster: { value: cluster({ node: marked() }), requestedAt: now, receivedAt: now.mono },
  },
  now,
);

describe('a look that is forbidden', () => {
  it('ends the run at once if no look has succeeded, because the grant is missing', () => {
    expect(denied(start, look).ending).toMatchObject({ outcome: 'failed', reason: { code: 'denied' }, retry: true });
  });

  it('is retried if an earlier look was allowed, because a new API server knows no roles at first', () => {
    const known = denied(lookedOnce, look);
    expect(nextCommand(known, now)).toMatchObject({ do: 'sleep', because: { code: 'denied' } });
    expect(nextCommand(known, { ...now, mono: now.mono + 10_000 })).toMatchObject({
      do: 'look',
      machine: true,
      cluster: true,
    });
  });

  it('fails as denied if it stays forbidden until the time of the run is up', () => {
    const known = denied(lookedOnce, look);
    expect(nextCommand(known, { ...now, mono: known.deadline })).toMatchObject({
      do: 'end',
      ending: { outcome: 'failed', reason: { code: 'denied' }, retry: true },
    });
  });

  it('ends the run if it asked for more than earlier looks did', () => {
    expect(denied(lookedOnce, { ...look, search: true }).ending).toMatchObject({
      outcome: 'failed',
      reason: { code: 'denied' },
    });
  });
});

describe('a cluster that is searched for the machine, and that rejects the search', () => {
  const searching: RunState = {
    ...start,
    location: null,
    machine: { value: machine(), requestedAt: now, receivedAt: now.mono },
  };
  const answering = (known: RunState, error: CloudfenceError, at = now): RunState =>
    reduce(
      known,
      { do: 'locate', facts: machine() },
      { to: 'locate', found: [{ cluster: 'a', nodes: [], marked: [], facts: null, error }] },
      at,
    );
  const unauthorized = new PermissionDenied('GET /api/v1/nodes returned 401 Unauthorized: Unauthorized');

  it('ends the run at once with its own words if it does not recognize the caller', () => {
    expect(answering(searching, unauthorized).ending).toMatchObject({
      outcome: 'failed',
      retry: true,
      reason: { code: 'denied', says: expect.stringContaining('401 Unauthorized') },
    });
  });

  it('ends the run at once if it cannot be opened', () => {
    expect(answering(searching, new InvalidConfiguration(['no such context'])).ending).toMatchObject({
      outcome: 'failed',
      retry: false,
      reason: { code: 'invalid' },
    });
  });

  it('is asked again if it has just started, and the run fails if it still denies at the end', () => {
    const down = answering(
      searching,
      new Unavailable('GET /api/v1/nodes got no response: connect ECONNREFUSED 10.0.0.1:443'),
    );
    expect(nextCommand(down, now)).toMatchObject({ do: 'sleep', because: { code: 'cluster-unreachable' } });
    const up = answering(answering(down, unauthorized), unauthorized);
    expect(up.ending).toBeNull();
    expect(nextCommand(up, { ...now, mono: up.deadline })).toMatchObject({
      do: 'end',
      ending: { outcome: 'failed', reason: { code: 'denied' } },
    });
  });

  it('does not end the run if another cluster has the Node', () => {
    const found = [
      { cluster: 'a', nodes: [], marked: [], facts: null, error: unauthorized },
      { cluster: 'b', nodes: ['node-a'], marked: [], facts: null, error: null },
    ];
    expect(reduce(searching, { do: 'locate', facts: machine() }, { to: 'locate', found }, now)).toMatchObject({
      location: { cluster: 'b', node: 'node-a' },
      ending: null,
    });
  });
});
