import { describe, expect, it } from 'vitest';
import { Denied } from '../../fencing/errors.ts';
import { begin, type Known } from '../../fencing/known.ts';
import { learn } from '../../fencing/learn.ts';
import { next, type Command } from '../../fencing/next.ts';
import { cluster, machine, marked, view } from './view-builder.ts';

const { request, policy, reading, runId, now } = view();
const start = begin({ request, policy, reading, runId, deadline: now.mono + 60_000, place: { cluster: 'a', node: 'node-a' } });
const look: Extract<Command, { do: 'look' }> = { do: 'look', machine: true, cluster: true, disks: true, search: false };

const denied = (known: Known, command: Command): Known =>
  learn(known, command, { to: 'failed', error: new Denied('GET /api/v1/nodes/node-a was answered with 403'), sentAt: now }, now);

/** A run that has been let at everything once. */
const lookedOnce = learn(
  start,
  look,
  { to: 'look', machine: { says: machine(), askedAt: now, gotAt: now.mono }, cluster: { says: cluster({ node: marked() }), askedAt: now, gotAt: now.mono } },
  now,
);

describe('a look that is forbidden', () => {
  it('ends the run at once when nothing was ever seen: the grant is missing', () => {
    expect(denied(start, look).ending).toMatchObject({ outcome: 'failed', reason: { code: 'denied' }, retry: true });
  });

  it('is tried again after one that was allowed: the API server has just come up, and knows no roles yet', () => {
    const known = denied(lookedOnce, look);
    expect(next(known, now)).toMatchObject({ do: 'pause', because: { code: 'denied' } });
    expect(next(known, { ...now, mono: now.mono + 10_000 })).toMatchObject({ do: 'look', machine: true, cluster: true });
  });

  it('fails as denied when it stays forbidden until the time is up', () => {
    const known = denied(lookedOnce, look);
    expect(next(known, { ...now, mono: known.deadline })).toMatchObject({ do: 'end', ending: { outcome: 'failed', reason: { code: 'denied' }, retry: true } });
  });

  it('ends the run when it asked for more than those before', () => {
    expect(denied(lookedOnce, { ...look, search: true }).ending).toMatchObject({ outcome: 'failed', reason: { code: 'denied' } });
  });
});
