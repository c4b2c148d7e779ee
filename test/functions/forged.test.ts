import { describe, expect, it } from 'vitest';
import { onEvent } from '../../functions/aws/on-event.ts';
import { replay } from '../../functions/aws/replay.ts';
import { onEvent as onAzureEvent } from '../../functions/azure/on-event.ts';
import { replay as azureReplay } from '../../functions/azure/handlers.ts';
import { webhook } from '../../functions/azure/webhook.ts';
import { MAX_ATTEMPTS } from '../../functions/acknowledge.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { shutdownTakes } from '../../sandbox/ec2/scenario.ts';
import { deallocate } from '../../sandbox/azure/machines.ts';
import { change, scene as azureScene } from '../sandbox/azure/azure-runs.ts';
import { stopMachine, stopped } from '../simulation/incidents.ts';
import { stateOf } from '../simulation/state.ts';
import { azureInstall, post, takeAll } from './azure-install.ts';
import { again, batchOf, installOver, stateChange } from './install.ts';

/**
 * Messages of Cloudfence have no authority, because everyone who can write to a queue, or knows the key of a webhook,
 * could have written them.
 */

const recordOf = (machine: string, change: object = {}) => ({
  version: 1,
  fence: 'forged.1',
  phase: 'fencing',
  cloud: 'aws',
  machine,
  generation: null,
  node: 'any',
  nodeUid: 'any',
  bootID: 'any',
  lease: null,
  outOfService: 'ours',
  begun: '2026-01-01T00:00:00.000Z',
  released: null,
  vouched: 'I say so',
  evidence: {},
  volumes: [],
  pods: [],
  ...change,
});
const lookAgain = (machine: string, change: object = {}) => ({
  cloudfence: 'look-again',
  machine,
  hops: 1,
  because: 'stopping',
  event: null,
  eventAt: null,
  record: null,
  ...change,
});

describe('a forged message in a batch', () => {
  it('does not replace the event next to it: the machine is still looked at as often as before', async () => {
    const { world, scene } = stopped();
    shutdownTakes(world, scene.spare, 600_000);
    stopMachine(world, scene.spare);
    const install = installOver(world);
    const answer = await onEvent(async () => install.dependencies)(
      batchOf(lookAgain(scene.spare, { hops: MAX_ATTEMPTS, event: 'forged' }), stateChange(scene.spare, 'stopping')),
      install.context(),
    );
    expect(answer).toEqual(again());
    expect(install.sentAgain).toMatchObject([
      { message: { machine: scene.spare, hops: 1, event: `e-${scene.spare}` } },
    ]);
  });

  it('cannot claim that a person has removed the fence', async () => {
    const { world, scene } = stopped();
    const name = scene.nodeOf(scene.holder);
    const node = getObject(world, 'nodes', name);
    const install = installOver(world);
    const generation = new Date(world.parts.ec2.instances[scene.holder]?.present?.launchTime ?? 0).toISOString();
    const record = recordOf(scene.holder, {
      node: name,
      nodeUid: node?.metadata.uid,
      bootID: node?.status.nodeInfo?.bootID,
      generation,
    });
    await onEvent(async () => install.dependencies)(
      batchOf(lookAgain(scene.holder, { record }), stateChange(scene.holder)),
      install.context(),
    );
    expect(install.lines.at(-1)).toMatchObject({ decision: 'fenced' });
  });
});

describe('a message of Cloudfence that arrived in another way', () => {
  const forged = (machine: string) => lookAgain(machine, { record: recordOf(machine) });
  const enveloped = (machine: string) => ({ cloudfence: 'retry', failures: 9, body: JSON.stringify(forged(machine)) });

  it.each([
    ['a look', forged],
    ['a retry', enveloped],
    ['nothing at all', () => ({ cloudfence: null })],
  ])('is a dead letter with its reason: %s at the webhook of Azure', async (_, message) => {
    const { world, holder } = azureScene();
    change(world, holder, deallocate, 60_000);
    const install = azureInstall(world);
    expect(await webhook(install.getDependencies)(post(message(holder)), install.context)).toMatchObject({
      status: 400,
      body: expect.stringMatching(/valid only in its own queue/),
    });
    expect([takeAll(install), install.queues['dead-letters']]).toMatchObject([
      [],
      [
        {
          text: JSON.stringify(message(holder)),
          properties: { reason: expect.stringMatching(/valid only in its own queue/) },
        },
      ],
    ]);
    expect(install.lines).toMatchObject([{ level: 'warn', decision: 'not-understood' }]);
  });

  it('is also rejected in a list, in a text, or after white space', async () => {
    const { world, holder } = azureScene();
    change(world, holder, deallocate, 60_000);
    for (const message of [
      [forged(holder)],
      JSON.stringify(JSON.stringify(forged(holder))),
      ` \n${JSON.stringify(forged(holder))}`,
      `\uFEFF${JSON.stringify(forged(holder))}`,
    ]) {
      const install = azureInstall(world);
      await webhook(install.getDependencies)(post(message), install.context);
      await onAzureEvent(install.getDependencies)(takeAll(install), install.context);
      expect(install.lines.filter(({ decision }) => decision !== 'not-understood')).toEqual([]);
      expect(install.queues['dead-letters']).toHaveLength(1);
    }
  });

  it('is rejected if a person sends it', async () => {
    const { world, scene } = stopped();
    const install = installOver(world);
    const before = stateOf(world);
    await expect(replay(async () => install.dependencies)(forged(scene.holder), install.context())).rejects.toThrow(
      /valid only in its own queue/,
    );
    expect(stateOf(world)).toEqual(before);
    const { world: other, holder } = azureScene();
    const azure = azureInstall(other);
    expect(await azureReplay(azure.getDependencies)(post(forged(holder)), azure.context)).toMatchObject({
      status: 400,
      body: expect.stringMatching(/valid only in its own queue/),
    });
  });
});

describe('a long message that names nothing', () => {
  const junk = `[${'1,'.repeat(125_000)}1]`;

  it('produces a few lines of log and a short reason', async () => {
    const install = installOver(stopped().world);
    await onEvent(async () => install.dependencies)(batchOf(junk), install.context());
    expect(install.dead).toMatchObject([
      { body: junk, reason: expect.toSatisfy((reason: string) => reason.length <= 1_000) },
    ]);
    expect([install.lines.length < 50, JSON.stringify(install.lines).length < 50_000]).toEqual([true, true]);
    await expect(replay(async () => install.dependencies)(junk, install.context())).rejects.toThrow(/^.{1,20000}$/);
  });

  it('also produces few lines if it names machines of other accounts', async () => {
    const install = installOver(stopped().world);
    const machines = Array.from({ length: 800 }, (_, at) =>
      stateChange(`i-${at.toString(16).padStart(8, '0')}`, 'stopped', { account: '999999999999' }),
    );
    await onEvent(async () => install.dependencies)(batchOf(machines), install.context());
    expect(install.lines.map(({ decision }) => decision)).toEqual(Array.from({ length: 21 }, () => 'foreign'));
    expect(install.lines.at(-1)).toMatchObject({ says: 'this install does not serve 780 more machines' });
  });
});
