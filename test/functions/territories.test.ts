import { afterEach, describe, expect, it } from 'vitest';
import { fence } from '../../functions/aws/fence.ts';
import { onEvent } from '../../functions/aws/on-event.ts';
import { sweep } from '../../functions/sweep.ts';
import { whyNotServed } from '../../functions/aws/dependencies.ts';
import type { NamingDependencies } from '../../functions/dependencies.ts';
import { SANDBOX_ACCOUNT, SANDBOX_REGION } from '../../sandbox/aws-sandbox.ts';
import { addFault } from '../../sandbox/ec2/faults.ts';
import { twoTerritories, type TwoTerritories } from '../providers/aws/two-territories.ts';
import { ec2World } from '../sandbox/ec2/ec2-world.ts';
import { attacherDown, forgotten, stopped, type Incident } from '../simulation/incidents.ts';
import { stateOf } from '../simulation/state.ts';
import { again, batchOf, installOver, stateChange } from './install.ts';

const opened: TwoTerritories[] = [];
afterEach(async () => void (await Promise.all(opened.splice(0).map(({ close }) => close()))));

const HOME = { account: '123456789012', region: 'eu-central-1' };

/** An install in another account and region than the machines of the cluster. Their events are forwarded to it. */
const elsewhere = async ({ world, scene }: Incident, policy: Parameters<typeof installOver>[1] = {}) => {
  const territories = await twoTerritories({ home: ec2World(), other: world });
  opened.push(territories);
  const install = installOver(world, policy, { cloud: territories.cloud });
  const dependencies: NamingDependencies = {
    ...install.dependencies,
    whyNotServed: (item) => whyNotServed(item, [HOME, territories.entry]),
  };
  return { world, scene, install, wiring: dependencies, ...territories };
};

const fencedLine = (node: string) => `${node} [cloudfence.dev/quarantine] fenced labelled`;

describe('a machine of another account', () => {
  it('is fenced with the role of its account when its event is forwarded', async () => {
    const { world, scene, install, wiring: dependencies, home } = await elsewhere(stopped());
    expect(await onEvent(async () => dependencies)(batchOf(stateChange(scene.holder)), install.context())).toEqual(
      again(),
    );
    world.advance(60_000);
    expect(stateOf(world)).toMatchObject({
      disks: expect.arrayContaining([`${scene.volume} at ${scene.spare} attached`]),
      violations: [],
    });
    expect(stateOf(world).nodes).toContain(fencedLine(scene.nodeOf(scene.holder)));
    expect(JSON.stringify(world.parts.cluster.objects.nodes)).toContain(`${SANDBOX_ACCOUNT} ${SANDBOX_REGION}`);
    expect(Object.keys(home.traffic().calls)).not.toContain('DetachVolume');
  });

  it('has its disk detached in its account if Kubernetes does not detach it', async () => {
    const {
      world,
      scene,
      install,
      wiring: dependencies,
      home,
      other,
    } = await elsewhere(attacherDown(), { detach: 'always' });
    await fence(async () => dependencies)({ instanceId: scene.holder }, install.context());
    world.advance(10_000);
    expect(stateOf(world).disks).toContain(`${scene.volume} at nobody`);
    expect({ home: home.traffic().calls['DetachVolume'], other: other.traffic().calls['DetachVolume'] }).toEqual({
      home: undefined,
      other: 1,
    });
  });

  it('is found by the sweep if its event was lost', async () => {
    const { world, scene, install, wiring: dependencies } = await elsewhere(stopped());
    world.advance(60_000);
    expect(await sweep(async () => dependencies)({}, install.context())).toMatchObject({
      results: [{ outcome: 'fenced', instance: scene.holder }],
      unreachable: [],
    });
  });

  it('is fenced because of the disks of that account if EC2 has forgotten the machine', async () => {
    const { world, scene, install, wiring: dependencies } = await elsewhere(forgotten());
    expect(await fence(async () => dependencies)({ instanceId: scene.holder }, install.context())).toMatchObject({
      outcome: 'fenced',
      instance: scene.holder,
    });
    expect(stateOf(world).violations).toEqual([]);
  });

  it.each([
    [
      'its role cannot be assumed',
      ({ sts }: TwoTerritories) => sts.fail({ status: 403, code: 'AccessDenied' }),
      /^denied: Cloudfence cannot assume the role arn:aws:iam::111122223333:role\/cloudfence-other/,
    ],
    [
      'its EC2 does not answer',
      (_: TwoTerritories, { world }: Incident) =>
        addFault(world.parts.ec2, { mishap: { kind: 'error', code: 'InternalError', status: 500 }, times: 1_000 }),
      /^unavailable/,
    ],
  ])(
    'is not touched while %s, and never counts as missing',
    async (_, trouble, reason) => {
      const incident = forgotten();
      const { world, scene, install, wiring: dependencies, ...territories } = await elsewhere(incident);
      trouble(territories, incident);
      const before = stateOf(world);
      expect(await fence(async () => dependencies)({ instanceId: scene.holder }, install.context())).toMatchObject({
        outcome: 'failed',
        reason: expect.stringMatching(reason),
      });
      expect(stateOf(world)).toMatchObject({ nodes: before.nodes, disks: before.disks });
    },
    120_000,
  );
});

describe('an event', () => {
  const served = [
    HOME,
    { account: '222233334444', region: 'eu-west-1' },
    { account: '123456789012', region: 'eu-west-3' },
  ];

  it.each([
    ['of its own account and region', { account: '123456789012', region: 'eu-central-1' }],
    ['of a configured account and region', { account: '222233334444', region: 'eu-west-1' }],
    ['of its own account in a configured region', { account: '123456789012', region: 'eu-west-3' }],
    ['that names only a region', { account: null, region: 'eu-west-3' }],
    ['that names nothing', { account: null, region: null }],
  ])('%s is handled', (_, event) => expect(whyNotServed(event, served)).toBeNull());

  it.each([
    [
      'another account',
      { account: '333344445555', region: 'eu-west-1' },
      /account 333344445555, region eu-west-1, but this install serves only account 123456789012 in eu-central-1, account 222233334444 in eu-west-1/,
    ],
    [
      'a configured account in another region',
      { account: '222233334444', region: 'eu-west-3' },
      /from account 222233334444, region eu-west-3/,
    ],
    [
      'a configured region of another account',
      { account: '333344445555', region: 'eu-west-3' },
      /from account 333344445555/,
    ],
    ['another region', { account: null, region: 'ap-south-1' }, /the event is from region ap-south-1/],
  ])('of %s is refused, and the refusal says how to serve it', (_, event, words) => {
    expect(whyNotServed(event, served)).toMatch(words);
    expect(whyNotServed(event, served)).toMatch(/add it to `territories` with a role to assume/);
  });

  it('of an account that is not configured causes no look', async () => {
    const { scene, install, wiring: dependencies, home, other } = await elsewhere(stopped());
    expect(
      await onEvent(async () => dependencies)(
        batchOf(stateChange(scene.holder, 'stopped', { account: '333344445555' })),
        install.context(),
      ),
    ).toEqual(again());
    expect(install.lines).toMatchObject([
      { decision: 'foreign', instance: scene.holder, says: expect.stringContaining('333344445555') },
    ]);
    expect({ home: home.traffic().calls, other: other.traffic().calls }).toEqual({ home: {}, other: {} });
  });
});
