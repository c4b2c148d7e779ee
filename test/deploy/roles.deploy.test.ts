import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { addFault } from '../../sandbox/ec2/faults.ts';
import { startCli } from '../cli/run-cli.ts';
import { openSecondCluster } from './second-cluster.ts';
import { install, TAGS, type Installed } from './installed.ts';
import * as scenarios from './role-scenarios.ts';
import { forgotten, namesIn, played } from './role-table.ts';
import { fencedAndMoved, stateChange, stopIn, tagVolumes, type Holder } from './stopping-machines.ts';
import { FENCING, HOLDERS_FOR_TRIALS, trialOn, type Trial } from './trial.ts';

/** The same install, with each function limited to its shipped role. */

let deployed: Installed;
let trial: Trial;

const params = {
  clusters:
    '[{"name":"sandbox","secret":"cloudfence-sandbox-kubeconfig"},{"name":"second","parameter":"/cloudfence/second-cluster"}]',
  policy: '{"cap":{"share":1,"atOnce":1},"detach":"always","unreachable":"power-off"}',
};

/**
 * This stage has no archive. ministack does not check the name of an archive. test/infra checks that the shipped
 * statement names the one archive.
 */
const replayTheArchive = {
  Sid: 'ReplayTheArchive',
  Effect: 'Allow',
  Action: ['events:StartReplay'],
  Resource: ['*'],
  Condition: {},
} as const;

beforeAll(async () => {
  deployed = await install({
    holders: 3 + HOLDERS_FOR_TRIALS,
    auth: true,
    params,
    before: (world, [lost]) => lost && stopIn(world, lost, 1_000),
  });
  const secondCluster = await openSecondCluster();
  await deployed.storeParameter('/cloudfence/second-cluster', secondCluster.access);
  await deployed.archiveEvents();
  trial = trialOn(deployed, 3, { replay: [replayTheArchive] });
  return async () => void (await Promise.all([deployed.close(), secondCluster.close()]));
});

const untilFenced = async (holder: Holder): Promise<void> => {
  await expect.poll(() => deployed.fenceStateOf(holder), { timeout: 30_000, interval: 100 }).toEqual(fencedAndMoved);
  expect(deployed.violations()).toEqual([]);
};

const cliReplay = async (event: object): Promise<unknown> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-event-'));
  const file = path.join(folder, 'event.json');
  await writeFile(file, JSON.stringify(event));
  const { stdout } = await startCli(['replay', file, '--json'], deployed.sandbox);
  await rm(folder, { recursive: true });
  return JSON.parse(stdout);
};

const { freesTheDisk, powersOff } = scenarios;

/** On a busy computer, one call may end too early. The next one continues from there, as redeliveries do. */
const goesOn = { timeout: 40_000, interval: 0 } as const;

const shapeOf = (answer: unknown) =>
  typeof answer === 'object' && answer !== null ? Object.keys(answer).toSorted() : answer;

it('every action of every role has a story that needs it, or a reason why none does', () => {
  expect(forgotten).toEqual([]);
});

it('a message comes back within seconds after a failure, long before its visibility timeout of a minute', async () => {
  const holder = deployed.holder(2);
  const mishap = { kind: 'error', status: 403, code: 'UnauthorizedOperation' } as const;
  addFault(deployed.world.parts.ec2, { action: 'DescribeInstances', mishap });
  stopIn(deployed.world, holder, 1_000);
  await deployed.tell(holder.machine, 'stopped');
  await untilFenced(holder);
  expect(deployed.violations()).toEqual([]);
});

it('the doctor finds no fault from inside', async () => {
  expect(await deployed.call('doctor', {})).toMatchObject({
    verdict: 'ok',
    checks: expect.arrayContaining(
      [
        'sandbox: may patch nodes',
        ...FENCING.map((name) => `cloudfence-ministack-${name}: access with its own role`),
      ].map((what) => expect.objectContaining({ what, verdict: 'ok' })),
    ),
  });
});

it('the doctor checks the roles that fence, and names the tag that is missing', async () => {
  tagVolumes(deployed.world, {});
  const ill = await deployed.call('doctor', {});
  tagVolumes(deployed.world, TAGS.volumes);
  expect(ill).toMatchObject({
    errorMessage: expect.stringMatching(
      /FAIL {2}cloudfence-ministack-sweep: aws: may detach disks.*vol-\w+ does not have the tag .*ebs\.csi\.aws\.com\/cluster=true/,
    ),
  });
  expect(await deployed.serverless('invoke', '-f', 'doctor')).toMatchObject({ code: 0 });
});

it('a manual event gets the same JSON as from the CLI', async () => {
  const { machine, node } = deployed.holder(0);
  const event = stateChange(machine, 'stopped');
  const dry = await deployed.call('replay', { ...event, dryRun: true });
  expect(dry).toMatchObject({ outcome: 'would-fence', dryRun: true, instance: machine });
  expect(deployed.fenceStateOf(deployed.holder(0))).toEqual({ phase: null, diskMoved: false });
  const answer = await deployed.call('replay', event);
  expect(answer).toMatchObject({ instance: machine, node, cluster: 'sandbox', dryRun: false });
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

it('the incident is in the bucket, written with only the shipped role', async () => {
  const holder = deployed.holder(1);
  const named = { cluster: 'sandbox', node: holder.node, id: deployed.fenceIdOf(holder) };
  await expect
    .poll(() => deployed.incident(named), { timeout: 20_000, interval: 500 })
    .toMatchObject({ machine: holder.machine, state: 'fenced' });
});

it('a removal is refused while there are fences', async () => {
  const refused = await deployed.serverless('remove');
  expect(refused).toMatchObject({
    code: 1,
    said: expect.stringMatching(/Nodes are still fenced[\s\S]*cloudfence release --all/),
  });
  expect(refused.said).toContain(deployed.holder(1).node);
});

describe.each([
  ['all is well', scenarios.findsAllWell],
  ['every cluster is asked', scenarios.asksEveryCluster],
  ['a machine that is stopping is looked at again', scenarios.looksAgainLater],
  ['what cannot be read is a dead letter with its reason', scenarios.givesUpWithAReason],
  ['a range of the archive is replayed', scenarios.replaysTheArchive],
])('%s', (_, scenario) => {
  it.each(played(scenario))('fails with $name without $action ($sid)', async (shipped) => {
    expect(await trial.missing(scenario, shipped)).not.toEqual(scenario.goodEnd);
  });
  it.each(namesIn(played(scenario)))('succeeds with the whole role of %s', async (name) => {
    expect(await trial.whole(scenario, name)).toEqual(scenario.goodEnd);
  });
});

/** The sweep looks at every machine that is off, so its story comes first and runs alone. */
describe.each([['sweep'], FENCING.filter((name) => name !== 'sweep')])(
  'the disk of a machine that is off is detached',
  (...names) => {
    beforeAll(async () => {
      deployed.world.parts.cluster.knobs.attacherDown = true;
      await trial.stop(...names);
    });
    describe.each(names)('%s', { concurrent: true }, (name) => {
      it.for(played(freesTheDisk).filter((shipped) => shipped.name === name))(
        'fails without $action ($sid)',
        { concurrent: false },
        async (shipped, { expect }) => {
          expect(await trial.missing(freesTheDisk, shipped)).not.toEqual(freesTheDisk.goodEnd);
        },
      );
      it('succeeds with the whole role', { concurrent: false }, async ({ expect }) => {
        await expect.poll(() => trial.whole(freesTheDisk, name), goesOn).toEqual(freesTheDisk.goodEnd);
      });
    });
  },
);

it('the sweep finishes what waited for the attacher once the attacher is back', async () => {
  deployed.world.parts.cluster.knobs.attacherDown = false;
  await deployed.call('sweep', {});
  const phases = () => FENCING.map((name) => deployed.fenceStateOf(trial.dead(name)).phase);
  await expect.poll(phases, { timeout: 30_000, interval: 100 }).toEqual(FENCING.map(() => 'fenced'));
  expect(deployed.violations()).toEqual([]);
});

/** One at a time: if other machines are also out of reach, Cloudfence suspects the network. */
describe('a machine that is out of reach is powered off', () => {
  it.each(played(powersOff))('fails with $name without $action, but succeeds with its whole role', async (shipped) => {
    expect(await trial.missing(powersOff, shipped)).not.toEqual(powersOff.goodEnd);
    await expect.poll(() => trial.whole(powersOff, shipped.name), goesOn).toEqual(powersOff.goodEnd);
    trial.deleteSilentNode(shipped.name);
  });
});

it('a removal succeeds if it is forced', async () => {
  expect(await deployed.serverless('remove', '--force-remove')).toMatchObject({ code: 0 });
}, 120_000);
