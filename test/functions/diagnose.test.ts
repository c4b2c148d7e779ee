import { describe, expect, it } from 'vitest';
import { answerSchema } from '../../diagnosis/answer.ts';
import { diagnose as onAws } from '../../functions/aws/diagnose.ts';
import { lambdaHandler } from '../../functions/aws/lambda.ts';
import { diagnose } from '../../functions/diagnose.ts';
import { stopped } from '../simulation/incidents.ts';
import { installOver } from './install.ts';

/** A function in the sandbox. */
const deployed = () => {
  const { world } = stopped();
  world.advance(120_000);
  const { dependencies } = installOver(world);
  return { getDependencies: async () => dependencies, limit: { getRemainingTimeInMillis: () => 60_000 } };
};

describe('the function diagnose', () => {
  it('gives the same answer as the CLI, with the steps of a dry run', async () => {
    const { getDependencies, limit } = deployed();
    const answer = answerSchema.parse(await diagnose(getDependencies)({ target: 'pod/default/db-0' }, limit));
    expect(answer.findings).toMatchObject([
      {
        pod: 'default/db-0',
        cause: { kind: 'machine-off', confidence: 'proved' },
        rehearsal: { outcome: 'would-fence' },
      },
    ]);
    expect(await onAws(getDependencies)({ target: 'pod/default/db-0' }, limit)).toMatchObject({ unread: [] });
  });

  it.each([null, {}])('looks at all pods that wait if the request has no target (%j)', async (event) => {
    const { getDependencies, limit } = deployed();
    expect(await diagnose(getDependencies)(event, limit)).toMatchObject({ findings: [{ pod: 'default/db-0' }] });
  });

  it('reports the status of fences', async () => {
    const { getDependencies, limit } = deployed();
    expect(await onAws(getDependencies)({ question: 'status' }, limit)).toMatchObject({
      paused: null,
      shadow: false,
      clusters: [{ cluster: 'sandbox', fences: [], cap: { begun: 0 } }],
      unreachable: [],
    });
    await expect(diagnose(getDependencies)({ question: 'status', target: 'pod/a/b' }, limit)).rejects.toThrow(
      /a status has no target/,
    );
  });

  it.each([{ target: 'pod/a/b/c' }, { target: 7 }, { traget: 'pod/a/b' }, 'x'])('rejects %j', async (event) => {
    const { getDependencies, limit } = deployed();
    await expect(diagnose(getDependencies)(event, limit)).rejects.toThrow(/pod\/<namespace>\/<name>/);
  });

  it('tells the caller on Lambda what is wrong, and nothing about a log', async () => {
    const its = installOver(stopped().world);
    const handler = lambdaHandler(onAws(async () => its.dependencies));
    await expect(handler({ target: 'pod/a/b/c' }, { getRemainingTimeInMillis: () => 60_000 })).rejects.toMatchObject({
      name: 'CloudfenceError',
      message: expect.stringMatching(/^"pod\/a\/b\/c" is not pod/),
    });
  });
});
