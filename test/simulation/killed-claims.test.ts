import { expect, it } from 'vitest';
import { defaultPolicy, type Policy } from '../../fencing/model/policy.ts';
import { sweep } from '../../fencing/sweep/sweep.ts';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { addFault, throttled } from '../../sandbox/ec2/faults.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject, listObjects } from '../../sandbox/cluster/get-objects.ts';
import { ATTACHED_NODE_ID, FENCED_LABEL } from '../../kubernetes/names.ts';
import { freshRun, portsOver } from './ports.ts';
import { stateOf } from './state.ts';
import { walk, type CommandMoment } from './walk.ts';
import { allOff, fenceOne, freshId, MINUTE, nodeOf, terminateMachine, type Zone } from './zone.ts';
import { startMachine } from './incidents.ts';

/**
 * One fence may be unfinished at a time, and the run of the first was killed before it could enter its end in the
 * ledger. The entry ends once the cluster shows nothing of that fence any more, and not before.
 */

const stuck = { detach: 'never' } as const;

/** Two of nine machines are off, and the run of the first was killed before that command. */
const killedBefore = async (
  isCut: (crossing: CommandMoment) => boolean,
  end?: (world: AwsWorld, machine: string) => void,
  knobs: Partial<AwsWorld['parts']['cluster']['knobs']> = {},
): Promise<Zone> => {
  const { world, machines } = allOff(9, end, 2);
  Object.assign(world.parts.cluster.knobs, knobs);
  const [machine = ''] = machines;
  const { crossings } = await walk(world, freshRun(world, portsOver(world), { machine, policy: stuck, lasts: MINUTE }));
  const cut = crossings.find(isCut);
  if (!cut) throw new Error('the run never came so far');
  return { world: cut.world, machines };
};

/** The CSI attacher is down, and each detach is throttled. So a fence has work left that only Cloudfence does. */
const killedWithDisksLeft = async (): Promise<Zone> => {
  const zone = await killedBefore(isMarked, undefined, { attacherDown: true });
  addFault(zone.world.parts.ec2, { action: 'DetachVolume', mishap: throttled, times: Infinity });
  return zone;
};

const concludes = ({ command }: CommandMoment): boolean => command.do === 'conclude';
const isMarked = ({ known }: CommandMoment): boolean => known.record !== null;

/** Returns the machines that were fenced meanwhile. */
const sweepFor = async ({ world }: Zone, minutes: number, policy: Partial<Policy> = stuck) => {
  const runOptions = { policy: { ...defaultPolicy, ...policy }, newRunId: freshId };
  const outcomes = [];
  for (const until = world.now() + minutes * MINUTE; world.now() < until; world.advance(MINUTE))
    outcomes.push(...(await sweep({ ...runOptions, deadline: world.now() + MINUTE }, portsOver(world))).outcomes);
  return outcomes.filter(({ outcome }) => outcome === 'fenced').map(({ machine }) => machine);
};

const removeNode = ({ world, machines: [first = ''] }: Zone): void => {
  const node = getObject(world, 'nodes', nodeOf(world, first));
  if (node) writerAs(world, 'person').remove('nodes', node);
};

/** The attacher’s note of the machine is removed from each attachment to that Node. */
const namesNobody = ({ world, machines: [first = ''] }: Zone): void => {
  const left = listObjects(world, 'volumeattachments').filter(({ spec }) => spec.nodeName === nodeOf(world, first));
  expect(left).not.toEqual([]);
  for (const attachment of left)
    writerAs(world, 'person').change(
      'volumeattachments',
      attachment,
      ({ metadata }) => delete metadata.annotations?.[ATTACHED_NODE_ID],
    );
};

const isMarkedIn = ({ world, machines }: Zone, at: number): boolean =>
  getObject(world, 'nodes', nodeOf(world, machines[at] ?? ''))?.metadata.labels?.[FENCED_LABEL] !== undefined;

it('the entry of a machine whose Node was deleted ends within minutes', async () => {
  const zone = await killedBefore(concludes, terminateMachine);
  const { world, machines } = zone;
  const [, second = ''] = machines;
  expect(await fenceOne(world, second)).toMatchObject({ outcome: 'refused', reason: { code: 'cap-reached' } });
  expect(await sweepFor(zone, 4)).toEqual([second]);
  expect(stateOf(world).violations).toEqual([]);
});

it('the entry of a machine that runs again, and was never marked, ends within minutes', async () => {
  const zone = await killedBefore(({ known }) => known.memory.admission?.admitted === true);
  const { world, machines } = zone;
  expect(isMarkedIn(zone, 0)).toBe(false);
  startMachine(world, machines[0] ?? '');
  world.advance(MINUTE);
  expect(await sweepFor(zone, 4)).toEqual([machines[1]]);
});

it.each([
  ['whose Node has our mark', () => undefined],
  ['whose Node is gone but whose attachments are left', removeNode],
  [
    'whose Node is gone and whose attachments name no machine',
    (zone: Zone) => {
      namesNobody(zone);
      removeNode(zone);
    },
  ],
  [
    'whose marked Node no longer names a machine',
    ({ world, machines: [first = ''] }: Zone) => {
      const node = getObject(world, 'nodes', nodeOf(world, first));
      if (node)
        writerAs(world, 'person').change('nodes', node, ({ metadata, spec }) => {
          delete spec.providerID;
          metadata.annotations = {};
        });
    },
  ],
])('the entry of a machine %s stays unfinished', async (_, happens) => {
  const zone = await killedWithDisksLeft();
  happens(zone);
  expect(await sweepFor(zone, 8, { detach: 'always' })).toEqual([]);
  expect(isMarkedIn(zone, 1)).toBe(false);
});

it.each([
  ['whose Node is there', () => undefined],
  ['whose Node is gone', removeNode],
])('a fence that only waits for the CSI attacher gives its place back: a machine %s', async (_, happens) => {
  const zone = await killedBefore(isMarked, undefined, { attacherDown: true });
  happens(zone);
  await sweepFor(zone, 8, { detach: 'always' });
  expect(isMarkedIn(zone, 1)).toBe(true);
  expect(stateOf(zone.world).violations).toEqual([]);
});

it('the entry of a machine whose Node is parked ends even if a sweep looks at few parked Nodes', async () => {
  const { world, machines } = allOff(16, undefined, 14);
  const policy = { cap: { share: 1, atOnce: 0 } };
  const last = machines.at(-1) ?? '';
  for (const machine of machines.slice(0, -2)) await fenceOne(world, machine, policy);
  const machine = machines.at(-2) ?? '';
  const { crossings } = await walk(world, freshRun(world, portsOver(world), { machine, policy, lasts: MINUTE }));
  const cut = crossings.find(concludes);
  if (!cut) throw new Error('the run never came so far');
  cut.world.advance(3 * MINUTE);
  expect(await sweepFor({ world: cut.world, machines }, 1, policy)).toContain(last);
});

it('the entry of a machine ends when its fence ends after all', async () => {
  const zone = await killedWithDisksLeft();
  expect(await sweepFor(zone, 5, { detach: 'always' })).toEqual([]);
  zone.world.parts.ec2.faults.splice(0);
  zone.world.parts.cluster.knobs.attacherDown = false;
  expect(await sweepFor(zone, 4)).toEqual(zone.machines);
});

it.each([
  ['in a dry run', { dryRun: true }],
  ['under a pause', { paused: 'upgrade' }],
])('no entry ends %s', async (_, policy) => {
  const zone = await killedBefore(concludes, terminateMachine);
  await sweepFor(zone, 4, policy);
  expect(await fenceOne(zone.world, zone.machines[1] ?? '')).toMatchObject({ reason: { code: 'cap-reached' } });
});

it('an entry also ends in shadow mode', async () => {
  const zone = await killedBefore(concludes, terminateMachine);
  await sweepFor(zone, 4, { shadow: true });
  expect(isMarkedIn(zone, 1)).toBe(false);
  expect(await fenceOne(zone.world, zone.machines[1] ?? '')).toMatchObject({ outcome: 'fenced' });
});
