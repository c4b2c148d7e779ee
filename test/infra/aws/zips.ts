import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SANDBOX_ACCOUNT } from '../../../sandbox/aws-sandbox.ts';
import { openLiveSandbox, type LiveSandbox } from '../../cli/live-sandbox.ts';
import {
  fencedAndMoved,
  holdersIn,
  fenceStateOf,
  stateChange,
  stopIn,
  type Holder,
} from '../../deploy/stopping-machines.ts';
import type { Made } from './made.ts';
import { ofType } from './template-reader.ts';
import { invokeZip } from './unpacked-function.ts';

const deployedFunction = z.object({
  Handler: z.string(),
  Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }),
});

/** The environment as deployed, except for what a stack would fill in, and for the access to the cluster. */
const variablesFor = async (
  sandbox: LiveSandbox,
  written: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, string>>> => {
  const plainOnes = Object.entries(written).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as const] : [],
  );
  const settings = {
    clusters: [{ name: 'prod', kubeconfig: await readFile(sandbox.kubeconfig, 'utf8') }],
    policy: { cap: { atOnce: 0.5 } },
  };
  return {
    ...Object.fromEntries(plainOnes),
    ...sandbox.environment,
    CLOUDFENCE_ACCOUNT: SANDBOX_ACCOUNT,
    CLOUDFENCE_SETTINGS: JSON.stringify(settings),
  };
};

/** The zips that `serverless deploy` uploads, unpacked and run as on Lambda, with the sandbox behind them. */
export const describeZips = (made: () => Made): void => {
  describe('a function from its zip', () => {
    let sandbox: LiveSandbox;
    let holders: readonly Holder[];
    beforeAll(async () => {
      sandbox = await openLiveSandbox((world) => {
        holders = holdersIn(world, 2);
        for (const holder of holders) stopIn(world, holder, 1_000);
      });
    });
    afterAll(() => sandbox.close());

    const holder = (at: number): Holder => {
      const found = holders[at];
      if (!found) throw new Error(`there is no holder ${at}`);
      return found;
    };

    const invoke = async (name: string, event: unknown): Promise<unknown> => {
      const found = Object.values(ofType(made().usual, 'AWS::Lambda::Function')).find(
        ({ FunctionName }) => FunctionName === `cloudfence-prod-${name}`,
      );
      const { Handler, Environment } = deployedFunction.parse(found);
      const folder = path.join(made().packaged.folder, `unpacked-${name}`);
      return invokeZip(
        { file: path.join(made().packaged.folder, `${name}.zip`), handler: Handler },
        folder,
        await variablesFor(sandbox, Environment.Variables),
        event,
      );
    };

    const untilFenced = async (at: number): Promise<void> => {
      await expect.poll(() => fenceStateOf(sandbox.world, holder(at)), { timeout: 20_000 }).toEqual(fencedAndMoved);
      expect(sandbox.world.parts.ec2.violations).toEqual([]);
    };

    it('doctor finds no fault', async () => {
      const answer = await invoke('doctor', {});
      expect(answer).toMatchObject({
        checks: expect.arrayContaining([expect.objectContaining({ what: 'prod: may patch nodes', verdict: 'ok' })]),
      });
      expect(answer).not.toMatchObject({
        checks: expect.arrayContaining([expect.objectContaining({ verdict: 'fail' })]),
      });
    });

    it('on-event fences the machine of an event, and acknowledges the event', async () => {
      const event = {
        Records: [{ messageId: 'one', body: JSON.stringify(stateChange(holder(0).machine, 'stopped')) }],
      };
      expect(await invoke('on-event', event)).toEqual({ batchItemFailures: [] });
      await untilFenced(0);
      expect(fenceStateOf(sandbox.world, holder(1))).toEqual({ phase: null, diskMoved: false });
    });

    it('sweep fences the machine that no event named', async () => {
      expect(await invoke('sweep', {})).toMatchObject({
        results: [{ outcome: 'fenced', instance: holder(1).machine }],
        unreachable: [],
      });
      await untilFenced(1);
    });

    it.each(['replay', 'fence'])('%s answers for a fenced machine', async (name) => {
      expect(await invoke(name, { instanceId: holder(0).machine, dryRun: true })).toMatchObject({
        instance: holder(0).machine,
        cluster: 'prod',
        dryRun: true,
      });
    });
  });
};
