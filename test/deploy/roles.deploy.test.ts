import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { runCli } from '../cli/run-cli.ts';
import { install, type Installed } from './installed.ts';
import { fencedAndMoved, stopIn, type Holder } from './stopping-machines.ts';

/** The same install where each function may do what its shipped role allows, and nothing else. */

let deployed: Installed;

beforeAll(async () => {
  deployed = await install({ holders: 2, auth: true, before: (world, [lost]) => lost && stopIn(world, lost, 1_000) });
  return () => deployed.close();
});

const untilFenced = async (holder: Holder): Promise<void> => {
  await expect.poll(() => deployed.standOf(holder), { timeout: 30_000, interval: 100 }).toEqual(fencedAndMoved);
  expect(deployed.harm()).toEqual([]);
};

const stateChange = ({ machine }: Holder) => ({ 'detail-type': 'EC2 Instance State-change Notification', source: 'aws.ec2', detail: { 'instance-id': machine, state: 'stopped' } });

const cliReplay = async (event: object): Promise<unknown> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-event-'));
  const file = path.join(folder, 'event.json');
  await writeFile(file, JSON.stringify(event));
  const { stdout } = await runCli(['replay', file, '--json'], deployed.sandbox);
  await rm(folder, { recursive: true });
  return JSON.parse(stdout);
};

const shapeOf = (answer: unknown) => (typeof answer === 'object' && answer !== null ? Object.keys(answer).toSorted() : answer);

it('the doctor finds all well from inside', async () => {
  const answer = await deployed.invoke('doctor', {});
  expect(answer).toMatchObject({ checks: expect.arrayContaining([expect.objectContaining({ what: 'sandbox: may patch nodes', ok: true })]) });
  expect(answer).not.toMatchObject({ checks: expect.arrayContaining([expect.objectContaining({ ok: false })]) });
});

it('an event by hand is answered with the same JSON as by the CLI', async () => {
  const event = stateChange(deployed.holder(0));
  const dry = await deployed.invoke('replay', { ...event, dryRun: true });
  expect(dry).toMatchObject({ outcome: 'fenced', dryRun: true, instance: deployed.holder(0).machine });
  expect(deployed.standOf(deployed.holder(0))).toEqual({ phase: null, diskMoved: false });
  const answer = await deployed.invoke('replay', event);
  expect(answer).toMatchObject({ instance: deployed.holder(0).machine, node: deployed.holder(0).node, cluster: 'sandbox', dryRun: false });
  expect(shapeOf(answer)).toEqual(shapeOf(await cliReplay(event)));
  await untilFenced(deployed.holder(0));
});

it('an event on the bus is fenced', async () => {
  const holder = deployed.holder(1);
  stopIn(deployed.world, holder, 500);
  await expect.poll(() => deployed.stateOf(holder)).toBe('stopped');
  await deployed.tell(holder.machine, 'stopped');
  await untilFenced(holder);
});

it('a removal is refused while fences stand', async () => {
  const refused = await deployed.serverless('remove');
  expect(refused).toMatchObject({ code: 1, said: expect.stringMatching(/fences stand[\s\S]*cloudfence release --all/) });
  expect(refused.said).toContain(deployed.holder(1).node);
});

it('a sweep whose role has lost its policy gets at no cluster, so roles do count here', async () => {
  expect(await deployed.invoke('sweep', {})).toMatchObject({ unreachable: [] });
  await deployed.dropPolicy('sweep');
  deployed.ministack.killFunctions();
  expect(await deployed.invoke('sweep', {})).toMatchObject({ unreachable: [{ cluster: 'sandbox', reason: expect.stringMatching(/AccessDenied/) }] });
});

it('a removal goes through when it is forced', async () => {
  expect(await deployed.serverless('remove', '--force-remove')).toMatchObject({ code: 0 });
}, 120_000);
