import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseIncident } from '../../../incidents/incident.ts';
import { keepers, type KeeperHarness } from './stand-ins.ts';
import { stateOf } from '../../simulation/state.ts';
import { holderStopped, openLiveSandbox, type LiveSandbox } from '../../cli/live-sandbox.ts';
import { runCli } from '../../cli/run-cli.ts';

/** A command that a person runs also stores an incident, and does not fail if it cannot. */

let sandbox: LiveSandbox;
let bucket: KeeperHarness;
let config: string;
beforeEach(async () => {
  const [aws] = keepers;
  if (!aws) throw new Error('AWS has a stand-in');
  [sandbox, bucket] = await Promise.all([openLiveSandbox(holderStopped), aws[2]()]);
  config = path.join(sandbox.folder, 'incidents.yaml');
  await writeFile(
    config,
    `{ incidents: '${bucket.address}', clusters: [{ name: sandbox, kubeconfig: ${sandbox.kubeconfig} }] }`,
  );
});
afterEach(() => Promise.all([sandbox.close(), bucket.close()]));

const cli = (...args: readonly string[]) => {
  const environment = { ...bucket.environment, ...sandbox.environment };
  return runCli([...args, '--config', config, '--timeout', '60s'], sandbox, { environment });
};
const node = () => sandbox.scene.nodeOf(sandbox.scene.holder);
const names = (prefix: string) => [...bucket.objects.keys()].filter((name) => name.startsWith(prefix));
const incidents = () => names('incidents/').map((name) => parseIncident(bucket.objects.get(name)?.text ?? ''));

it('a fence and its release by hand complete one incident, and leave their messages to the sweep', async () => {
  expect(await cli('fence', sandbox.scene.holder)).toMatchObject({ code: 0, stderr: '' });
  expect(incidents()).toMatchObject([
    { state: 'fenced', node: node(), triggers: [{ kind: 'person', says: 'cloudfence fence' }] },
  ]);
  expect(await cli('release', node(), '--accept', 'I looked')).toMatchObject({ code: 0, stderr: '' });
  expect(incidents()).toMatchObject([{ state: 'released', release: { accepted: 'I looked' } }]);
  expect([bucket.announced.length, names('notes/unsent/').length, names('notes/watch/').length]).toEqual([0, 2, 1]);
});

it('a folder stores the incidents, and `report` reads them there', async () => {
  const folder = path.join(sandbox.folder, 'kept');
  await writeFile(
    config,
    `{ incidents: '${folder}', clusters: [{ name: sandbox, kubeconfig: ${sandbox.kubeconfig} }] }`,
  );
  expect(await cli('fence', sandbox.scene.holder)).toMatchObject({ code: 0, stderr: '' });
  const { code, stdout, stderr } = await cli('report');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(`${node()}: fenced`);
});

it('a folder that cannot be written causes a warning', async () => {
  await writeFile(
    config,
    `{ incidents: '${config}', clusters: [{ name: sandbox, kubeconfig: ${sandbox.kubeconfig} }] }`,
  );
  const { code, stderr } = await cli('fence', sandbox.scene.holder);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/the incident is not complete: .*ENOTDIR/),
  });
});

it('a sweep by hand stores an incident, and a dry run stores none', async () => {
  sandbox.world.advance(120_000);
  await cli('fence', sandbox.scene.holder, '--dry-run');
  expect(incidents()).toEqual([]);
  await cli('sweep');
  expect(incidents()).toMatchObject([
    { state: expect.stringMatching(/^fenc(?:ing|ed)$/), triggers: [{ says: 'cloudfence sweep' }] },
  ]);
});

it('a bucket that denies the write causes a warning, and the fence does not change', async () => {
  bucket.trouble.status = 403;
  const { code, stdout, stderr } = await cli('fence', sandbox.scene.holder, '--json');
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, outcome: 'fenced' });
  expect(stderr).toMatch(/^cloudfence: the incident is not complete: s3:GetObject returned status 403\n$/);
  expect(stateOf(sandbox.world).nodes.find((line) => line.startsWith(node()))).toContain('[cloudfence.dev/quarantine]');
});

it('an invalid place for incidents causes a warning', async () => {
  await writeFile(
    config,
    `{ incidents: 'ftp://x/y', clusters: [{ name: sandbox, kubeconfig: ${sandbox.kubeconfig} }] }`,
  );
  const { code, stderr } = await cli('fence', sandbox.scene.holder);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/is no place of incidents: write s3:/) });
});
