import { describe, expect, it } from 'vitest';
import { InvalidConfiguration, Refused } from '../../fencing/model/errors.ts';
import { startRun } from '../../fencing/loop/state.ts';
import type { MachineFacts, MachineId } from '../../fencing/model/machine.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { proveIdentity } from '../../fencing/rules/identity.ts';
import { anyCloud } from '../../app/any-cloud.ts';
import type { OpenedCloud, CloudPlugin } from '../../providers/plugin.ts';
import { machine as factsOf } from '../fencing/view-builder.ts';
import { granted } from '../permits.ts';

const never = () => Promise.reject(new Error('nobody asked for this'));

/** A cloud whose machines are named after it. It reads the ID of a guest in its own way. */
const named = (name: string, incarnationsOf: CloudPlugin['immutableIdsOf'] = () => []): CloudPlugin => ({
  name,
  machineOf: ({ source, value }) => (source === 'providerID' && value.startsWith(`${name}:`) ? value : null),
  immutableIdsOf: incarnationsOf,
  diskOf: ({ driver, handle }) => (driver === name ? handle : null),
  readHints: () => ({ hints: [], faults: [], ignored: [] }),
  driverFaultOf: () => null,
  ownsId: (id) => id.startsWith(`${name}:`),
  access: never,
  open: never,
  stageWriter: () => Promise.reject(new Error('not asked')),
});

const claimsGuestIds: CloudPlugin['immutableIdsOf'] = ({ source, value }) => (source === 'systemUUID' ? [value] : []);
const registered: readonly CloudPlugin[] = [
  named('sun'),
  { ...named('moon', claimsGuestIds), machinesNamed: (node) => [`moon:${node}`] },
  named('star', ({ source, value }) => (source === 'instanceIdAnnotation' ? [value] : [])),
];
const patient = (): AbortSignal => new AbortController().signal;

const SUN = 'sun:1';
const SET = 'moon:set';
const MOON = 'moon:1';
const STAR = 'star:1';

/** Clouds that remember which of them were opened, and at what they looked. */
const clouds = (broken: readonly string[] = []) => {
  const opened: string[] = [];
  const seen: Record<string, readonly MachineId[]> = {};
  const open = async (name: string): Promise<OpenedCloud> => {
    opened.push(name);
    if (broken.includes(name)) throw new InvalidConfiguration([`no ${name}`]);
    const cloud: OpenedCloud['cloud'] = {
      name,
      look: async (machines) => {
        seen[name] = machines;
        return machines.map((id) => factsOf({ machine: id }));
      },
      witness: async () => 'none',
      holders: async (volumes) => volumes.map(({ handle }) => ({ disk: handle, by: [MOON] })),
      detach: async () => undefined,
      powerOff: async () => undefined,
      machineOf: () => null,
      immutableIdsOf: () => [],
      unservedScope: ({ value }) => ({ scope: value, remedy: `ask ${name}` }),
      diskOf: () => null,
    };
    const access = {
      managedCluster: () => Promise.reject(new Error('none')),
      secret: () => Promise.reject(new Error('none')),
    };
    const expand = async (named: readonly MachineId[]) => named.flatMap((id) => (id === SET ? [MOON, 'moon:2'] : [id]));
    return {
      cloud,
      readHints: () => ({ hints: [], faults: [], ignored: [] }),
      viewDisks: async () => [],
      driverFaultOf: () => null,
      expand,
      probes: [{ where: name, ask: async () => 'well', destructiveCalls: async () => [] }],
      access,
    };
  };
  return { kit: anyCloud(registered, open, new Set()), opened, seen };
};

describe('several clouds as one', () => {
  it('ask each cloud only about its own machines, and open no other', async () => {
    const { kit, opened, seen } = clouds(['moon']);
    const facts = await kit.cloud.look([STAR, SUN], { disks: true }, patient());
    expect(facts.map(({ machine }) => machine).toSorted()).toEqual([STAR, SUN]);
    expect({ opened: opened.toSorted(), seen }).toEqual({
      opened: ['star', 'sun'],
      seen: { sun: [SUN], star: [STAR] },
    });
  });

  it('leave out the machines of a cloud that gives no answer, and say why if no other machine is left', async () => {
    const { cloud } = clouds(['moon']).kit;
    expect(await cloud.look([MOON, SUN], { disks: true }, patient())).toMatchObject([{ machine: SUN }]);
    await expect(cloud.look([MOON], { disks: true }, patient())).rejects.toBeInstanceOf(InvalidConfiguration);
  });

  it('do not know an id that belongs to no cloud, and do nothing for it', async () => {
    const { kit, opened } = clouds();
    expect(await kit.cloud.look(['garbled'], { disks: true }, patient())).toMatchObject([
      { machine: 'garbled', power: 'unknown' },
    ]);
    const order = kit.cloud.powerOff({ machine: 'garbled', incarnation: null }, granted, patient());
    await expect(order).rejects.toBeInstanceOf(Refused);
    expect(opened).toEqual([]);
  });

  it('ask only the cloud of the disks about their holders, and only if that cloud can tell', async () => {
    const { kit, opened } = clouds();
    const volumes = ['moon', 'sun', 'elsewhere'].map((driver) => ({ driver, handle: 'disk' }));
    expect(await kit.cloud.holders?.(volumes, patient())).toEqual([{ disk: 'disk', by: [MOON] }]);
    expect([opened, kit.cloud.machinesNamed?.('node', { driver: 'moon', handle: 'disk' })]).toEqual([
      ['moon'],
      ['moon:node'],
    ]);
  });

  it('replace a scale set by its machines', async () => {
    expect(await clouds().kit.expand?.([SUN, SET], patient())).toEqual([SUN, MOON, 'moon:2']);
  });

  it('are tried if Nodes name their machines, and only the likeliest cloud is tried if no Node does', async () => {
    const where = async (machines: readonly MachineId[]) =>
      (await clouds().kit.probesOfMachines?.(machines))?.map((probe) => probe.where);
    expect([await where([MOON]), await where([STAR, SUN]), await where([])]).toEqual([
      ['moon'],
      ['sun', 'star'],
      ['sun'],
    ]);
  });

  it('report in a probe why one cannot be opened', async () => {
    const [probe] = (await clouds(['moon']).kit.probesOfMachines?.([MOON])) ?? [];
    await expect(probe?.ask(patient())).rejects.toThrow(/no moon/);
  });
});

describe('a run about one machine', () => {
  const readingOf = (machine: MachineId) => {
    const { kit } = clouds();
    return startRun({
      request: { machine, intent: 'fence', accepted: null, vouched: null },
      policy: defaultPolicy,
      identityRules: kit.cloud,
      runId: 'r',
      deadline: 0,
    }).identityRules;
  };

  it.each([
    [SUN, 'sun'],
    [MOON, 'moon'],
    [STAR, 'star'],
    ['garbled', 'sun or moon or star'],
  ])('of %s reads Nodes as %s does', (machine, name) => {
    expect(readingOf(machine).name).toBe(name);
  });

  it('reads volumes for that machine if its cloud can', () => {
    const reading = anyCloud(
      [
        {
          ...named('sun'),
          identityRulesFor: (machine) => ({ ...named('sun'), diskOf: ({ handle }) => `${machine} ${handle}` }),
        },
      ],
      never,
      new Set(),
    ).cloud.identityRulesFor?.(SUN);
    expect(reading?.diskOf({ driver: 'sun', handle: 'd' })).toBe(`${SUN} d`);
  });

  it('learns from its own cloud, once that was asked, that an account or region is not served', async () => {
    const { kit } = clouds();
    const source = { source: 'providerID', driver: null, value: STAR } as const;
    const reading = kit.cloud.identityRulesFor?.(STAR);
    expect(reading?.unservedScope(source)).toBeNull();
    await kit.cloud.look([STAR], { disks: false }, patient());
    expect(reading?.unservedScope(source)).toEqual({ scope: STAR, remedy: 'ask star' });
    expect(reading?.unservedScope({ ...source, value: 'nobodys' })).toBeNull();
  });

  it('does not treat another cloud’s reading of its Node as a contradiction', () => {
    const uuid = 'a1b2c3d4-e5f6-4718-8a9b-000000000001';
    const identitySources = [
      { source: 'providerID', driver: null, value: STAR },
      { source: 'systemUUID', driver: null, value: uuid },
    ] as const;
    const facts: MachineFacts = factsOf({ machine: STAR, incarnation: { id: '42', made: 0 } });
    expect(proveIdentity({ identitySources, created: 1 }, facts, readingOf(STAR))).toBe('proven');
    expect(
      proveIdentity(
        {
          identitySources: [...identitySources, { source: 'instanceIdAnnotation', driver: null, value: '43' }],
          created: 1,
        },
        facts,
        readingOf(STAR),
      ),
    ).toBe('contradicted');
  });
});
