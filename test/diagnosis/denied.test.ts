import { describe, expect, it } from 'vitest';
import { stopped } from '../simulation/incidents.ts';
import { attachFailed } from './scenes.ts';
import { denying, theCause } from './sandbox-diagnosis.ts';
import { diagnoseSandbox } from './ec2-diagnosis.ts';

/** The answer names what the credentials do not allow, and the rest of the answer is the same. */

describe('a read that is denied is named:', () => {
  it.each([
    ['events', 'machine-off'],
    ['csinodes', 'machine-off'],
    ['csidrivers', 'machine-off'],
    ['leases', 'machine-off'],
    ['volumeattachments', 'machine-off'],
    ['persistentvolumes', 'machine-off'],
    ['persistentvolumeclaims', 'machine-off'],
    ['nodes', 'machine-off'],
  ])('%s, and the answer is %s', async (resource, kind) => {
    const { world } = stopped();
    world.advance(120_000);
    const answer = await diagnoseSandbox(world, 'pod/default/db-0', denying(resource));
    expect(answer.unread.join('\n')).toContain(`${resource} is forbidden`);
    expect(theCause(answer).kind, answer.text).toBe(kind);
    expect(answer.text).toContain('UNREAD');
  });

  it('everything that could show the cause, and the answer does not guess', async () => {
    const { world } = attachFailed('rpc error: code = Internal desc = something new');
    const answer = await diagnoseSandbox(world, 'pod/default/app', denying('volumeattachments'));
    expect(theCause(answer), answer.text).toMatchObject({ kind: 'unknown', confidence: 'cannot-tell' });
  });

  it('pods, and then there is no answer', async () => {
    const { world } = stopped();
    const { findings, unread } = await diagnoseSandbox(world, 'pod/default/db-0', denying('pods'));
    expect(findings).toEqual([]);
    expect(unread.join()).toContain('pods is forbidden');
  });
});
