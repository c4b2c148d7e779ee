import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Ports } from '../../fencing/loop/ports.ts';
import type { SharedRunOptions } from '../../fencing/loop/run.ts';
import type { Cloud } from '../../fencing/model/cloud.ts';
import { fenceInBoot } from '../../fencing/model/cluster-facts.ts';
import type { Cluster, SuspectNode } from '../../fencing/model/cluster.ts';
import { PermissionDenied, Refused, Unavailable } from '../../fencing/model/errors.ts';
import type { IdentitySource, MachineFacts } from '../../fencing/model/machine.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { longWaits } from '../../fencing/model/reason.ts';
import { clusterThat, steppingClock } from './ports.ts';
import { empty, fencing, named, parked, stage, suspect, swept } from './sweep-stage.ts';
import { attachment, cluster, machine, marked, node, record, volume } from './view-builder.ts';

/**
 * Which machines a sweep looks at, in which order, and what it says about those that it cannot look at. Its runs end at
 * once, because they have no time.
 */

describe('the order of a sweep', () => {
  const off = { power: 'off' } as const;
  const running = { power: 'running' } as const;
  it('is by urgency, and by chance among equals', async () => {
    const taint = { marked: marked() };
    const one = stage(
      [
        suspect('node-parked', parked),
        suspect('node-running'),
        suspect('node-starting'),
        suspect('node-other-boot', fencing({ phase: 'fenced', generation: 'boot-0' })),
        suspect('node-attached', { ...parked, attachments: ['csi-1'] }),
        suspect('node-for-good', parked),
        suspect('node-fencing', fencing()),
        suspect('node-tainted-off', { ...fencing(), ...taint }),
        suspect('node-off-no-more', parked),
        suspect('node-stopping'),
        suspect('node-unknown', taint),
        suspect('node-unasked'),
        suspect('node-unasked-tainted', taint),
        suspect('node-off'),
        suspect('node-missing'),
        suspect('node-tainted', { ...fencing(), ...taint }),
        suspect('node-tainted-stopping', taint),
        suspect('node-stopped'),
        suspect('node-tainted-stopped', { ...fencing(), ...taint }),
        suspect('node-tainted-detaching', { ...fencing(), ...taint }),
        suspect('node-parked-stopped', parked),
      ],
      {
        'm-parked': off,
        'm-running': running,
        'm-starting': { power: 'starting' },
        'm-other-boot': off,
        'm-attached': off,
        'm-for-good': { power: 'off', forGood: true },
        'm-fencing': off,
        'm-tainted-off': off,
        'm-off-no-more': { power: 'stopping' },
        'm-stopping': { power: 'stopping' },
        'm-unknown': { power: 'unknown' },
        'm-off': off,
        'm-missing': { power: 'missing' },
        'm-tainted': running,
        'm-tainted-stopping': { power: 'stopping' },
        'm-stopped': { power: 'off-if-repeated' },
        'm-tainted-stopped': { power: 'off-if-repeated' },
        'm-tainted-detaching': { power: 'stopping', offUnderOperation: true },
        'm-parked-stopped': { power: 'off-if-repeated' },
      },
    );
    await swept(one);
    expect(one.looks[1]?.map((id) => id.slice(2))).toEqual([
      'tainted',
      'tainted-stopping',
      'off',
      'missing',
      'stopped',
      'stopping',
      'unknown',
      'unasked',
      'unasked-tainted',
      'other-boot',
      'attached',
      'for-good',
      'fencing',
      'tainted-off',
      'off-no-more',
      'tainted-stopped',
      'tainted-detaching',
      'running',
      'starting',
      'parked',
      'parked-stopped',
    ]);
  });

  it('is by the most urgent Node if several Nodes name the machine', async () => {
    const also = (name: string, change: Partial<SuspectNode> = {}) =>
      suspect(name, { identitySources: [named('m-twice')], because: 'node-missing', ...change });
    const before = async (one: SuspectNode, power: Partial<MachineFacts>, other: Partial<MachineFacts>) => {
      const twice = [also('node-a'), one];
      const { looks, ...rest } = stage([...twice, suspect('node-other')], { 'm-twice': power, 'm-other': other });
      await swept({ looks, ...rest });
      return looks[1]?.[0];
    };
    expect(await before(also('node-b', { marked: marked() }), running, off)).toBe('m-twice');
    expect(await before(also('node-b', { ...parked, because: 'node-missing' }), off, running)).toBe('m-twice');
    expect(await before(also('node-b', { record: record() }), off, off)).toBe('m-other');
  });

  it('is drawn again each time', async () => {
    const one = stage([suspect('node-1'), suspect('node-2'), suspect('node-3')]);
    const lots = ['c', 'a', 'b'];
    await swept(one, { newRunId: () => lots.shift() ?? 'z' });
    expect(one.looks[1]).toEqual(['m-2', 'm-3', 'm-1']);
  });

  it('ends with three of the parked machines', async () => {
    const nodes = Array.from({ length: 5 }, (_, at) => suspect(`node-${at}`, parked));
    const one = stage([...nodes, suspect('node-9')], {
      ...Object.fromEntries(nodes.map((_, at) => [`m-${at}`, off])),
      'm-9': running,
    });
    await swept(one);
    expect(one.looks).toEqual([
      ['m-0', 'm-1', 'm-2', 'm-3', 'm-4', 'm-9'],
      ['m-9', 'm-0', 'm-1', 'm-2'],
    ]);
  });

  it('is known for the machines about which the cloud answers', async () => {
    const looked: (readonly string[])[] = [];
    const look: Ports['cloud']['look'] = async (machines) => {
      looked.push(machines);
      const answered = machines.filter((id) => id !== 'm-1');
      if (answered.length === 0) throw new Unavailable('its zone does not answer');
      return answered.map((id) => machine({ machine: id, ...(id === 'm-2' ? running : off) }));
    };
    await swept(stage([suspect('node-1'), suspect('node-2'), suspect('node-3')], {}, { cloud: { look } }));
    expect(looked.slice(0, 2)).toEqual([
      ['m-1', 'm-2', 'm-3'],
      ['m-3', 'm-1', 'm-2'],
    ]);
  });

  it('is random if the cloud does not answer, and each machine is looked at', async () => {
    const look = () => Promise.reject(new Unavailable('slow'));
    const one = stage([suspect('node-1', fencing()), suspect('node-2')], {}, { cloud: { look } });
    expect((await swept(one)).outcomes.map(({ machine: id }) => id)).toEqual(['m-2', 'm-1']);
  });

  it('needs no call of the cloud if there is no suspect', async () => {
    const one = stage([]);
    expect(await swept(one)).toEqual({ outcomes: [], unreachable: [], overdue: { fenced: [], returned: [] } });
    expect(one.looks).toEqual([]);
  });
});

it('a sweep ends after the reservations of dead runs are removed', async () => {
  const removed = Promise.withResolvers<void>();
  const one = stage([], {}, { blue: { concludeUnless: () => removed.promise } });
  let over = false;
  const sweeping = swept(one).then(() => (over = true));
  await nextTurn();
  expect(over).toBe(false);
  removed.resolve();
  await sweeping;
});

describe('a suspect that has a machine', () => {
  it('is not listed among those without one', async () => {
    const { outcomes } = await swept(stage([suspect('node-1', { marked: marked() })]));
    expect(outcomes.map(({ machine: id }) => id)).toEqual(['m-1']);
    expect(outcomes[0]?.reason.code).toBe('not-fenced');
  });

  it('is looked at on its Node at once, whether our taint is on it or not', async () => {
    const seen: unknown[] = [];
    const observe: Ports['observe'] = (_, __, { location, ambiguity }) => void seen.push([location, ambiguity]);
    const look = async () => cluster({ node: marked({}, { name: 'node-1' }) });
    const one = stage([suspect('node-1', { marked: marked() })], { 'm-1': { power: 'running' } }, { blue: { look } });
    await swept({ ...one, ports: { ...one.ports, observe } }, { deadline: 1_200 });
    expect(seen[0]).toEqual([{ cluster: 'blue', node: 'node-1' }, null]);
  });

  it('is read from the Node only if the list does not name the machine, and is then not in doubt', async () => {
    const identify = async () => [named('m-7', 'csiNode')];
    const nameless = suspect('node-1', { identitySources: [], because: 'fenced' });
    const one = stage([nameless], {}, { blue: { identify } });
    await swept(one);
    expect(one.showing).toEqual([['m-7']]);
  });
});

describe('a step that the sweep itself takes before its runs', () => {
  it('is reported like those of a run', async () => {
    const seen: unknown[] = [];
    const observe: Ports['observe'] = (command, answer, { location }) =>
      void seen.push([command.do, answer.to, location]);
    const outlived = marked({}, { taintedFor: BOOT_A, bootID: 'boot-b', name: 'node-1' });
    const one = stage([suspect('node-1', { identitySources: [], marked: outlived })]);
    await swept({ ...one, ports: { ...one.ports, observe } });
    expect(seen).toEqual([['act', 'act', { cluster: 'blue', node: 'node-1' }]]);
  });
});

describe('the machine of a Node that is gone', () => {
  const gone = suspect('node-1', { because: 'node-missing', identitySources: [], attachments: ['csi-1'] });
  const left = (...attached: readonly boolean[]) => ({
    look: async () =>
      cluster({
        node: null,
        volumes: attached.map((one, at) => volume({ handle: `disk-${at}`, attachment: attachment({ attached: one }) })),
      }),
  });

  it('is found by the attachments that the Node left, and by the name of the Node', async () => {
    const requests: unknown[] = [];
    const look: Cluster['look'] = async ({ query, ...request }) => {
      requests.push([query.machine, request]);
      return cluster({ node: null, volumes: [] });
    };
    expect((await swept(stage([gone], {}, { blue: { look } }))).outcomes).toEqual([]);
    expect(requests).toEqual([
      ['', { node: null, remembered: null, successorsOf: [], attachments: ['csi-1'], named: ['node-1'] }],
    ]);
  });

  it('is not known if the cluster does not say what is left, and the sweep says so', async () => {
    const look = () => Promise.reject(new Unavailable('busy'));
    const { outcomes, unreachable } = await swept(stage([gone], {}, { blue: { look } }));
    expect(outcomes).toEqual([]);
    expect(unreachable).toMatchObject([{ cluster: 'blue', error: { name: 'Unavailable' } }]);
  });

  it('causes no question if no disk of this cloud is left', async () => {
    const holders = () => Promise.reject(new Refused('not asked'));
    const one = stage([gone], {}, { blue: left(), cloud: { holders } });
    expect((await swept(one)).outcomes).toEqual([]);
  });

  it('is found by name without its disks, if no attachment names a disk', async () => {
    const scopes: unknown[] = [];
    const look: Cloud['look'] = async (ids, { disks }) => {
      scopes.push([ids, disks]);
      return ids.map((id) => machine({ machine: id, nodeNames: ['node-1'] }));
    };
    const holders = async () => [];
    const none = stage([gone], {}, { blue: left(true, false), cloud: { holders, look } });
    expect((await swept(none)).outcomes).toMatchObject([{ outcome: 'refused', node: 'node-1' }]);
    expect(scopes).toEqual([]);
    const named = stage([gone], {}, { blue: left(true), cloud: { holders, look, machinesNamed: () => ['m-1'] } });
    expect((await swept(named)).outcomes).toMatchObject([{ machine: 'm-1' }]);
    expect(scopes.slice(0, 2)).toEqual([
      [['m-1'], false],
      [['m-1'], false],
    ]);
  });
});

describe('a run of a sweep', () => {
  it('has half a minute, ends instead of a long wait, and starts where its machine was seen', async () => {
    const one = stage(
      [suspect('node-1')],
      {},
      {
        blue: { look: async () => cluster({ node: node({ name: 'node-1' }) }) },
      },
    );
    const seen: unknown[] = [];
    const observe: Ports['observe'] = (_, __, { deadline, handsOver, location }) =>
      void seen.push([deadline, handsOver, location]);
    const began = one.ports.clock.now().mono;
    await swept({ ...one, ports: { ...one.ports, observe } }, { deadline: began + 100 });
    await swept({ ...one, ports: { ...one.ports, observe } }, { deadline: 200_000_000 });
    expect(seen[0]).toEqual([began + 100, longWaits, { cluster: 'blue', node: 'node-1' }]);
    const lasts = seen
      .map((entry) => (Array.isArray(entry) ? Number(entry[0]) : 0))
      .find((until) => until > began + 100);
    expect(lasts).toBeGreaterThan(began + 30_000);
    expect(lasts).toBeLessThan(began + 32_000);
  });
});

describe('the machine of a suspect', () => {
  const asked = async (identitySources: readonly IdentitySource[], blue: Partial<Cluster> = {}) => {
    const one = stage([suspect('node-1', { identitySources })], {}, { blue });
    const { outcomes } = await swept(one);
    return { machines: one.looks[0] ?? [], outcomes };
  };

  it('is the one in its providerID, whatever else the Node names', async () => {
    const claims = [named('m-2', 'csiNode'), named('m-1'), named('m-3', 'nodeIdAnnotation')];
    expect((await asked(claims)).machines).toEqual(['m-1']);
    expect((await asked([named('m-2', 'csiNode'), named('m-3', 'csiNode'), named('m-2', 'csiNode')])).machines).toEqual(
      ['m-2', 'm-3'],
    );
  });

  it('is read from the Node if the list does not name it', async () => {
    const identify = async (name: string) => [named(name === 'node-1' ? 'm-7' : 'm-8', 'csiNode')];
    expect((await asked([], { identify })).machines).toEqual(['m-7']);
    expect((await asked([named('other-cloud')], { identify })).machines).toEqual(['m-7']);
    const identifyNobody = () => Promise.reject(new TypeError('not asked'));
    expect((await asked([named('m-1')], { identify: identifyNobody })).machines).toEqual(['m-1']);
  });

  it('is in doubt if nothing names it, and the sweep reports that', async () => {
    for (const identify of [async () => null, async () => [named('x')]]) {
      const { machines, outcomes } = await asked([named('x')], { identify });
      expect(machines).toEqual([]);
      expect(outcomes).toMatchObject([
        {
          machine: '',
          cluster: 'blue',
          node: 'node-1',
          outcome: 'refused',
          reason: {
            code: 'identity-unproven',
            says: 'nothing on Node node-1 names a machine of a-cloud; run cloudfence doctor for the remedy',
          },
          lookAgainIn: null,
          retry: false,
        },
      ]);
    }
  });

  it('is in doubt alone if an unexpected error occurs', async () => {
    const identify = () => Promise.reject(new TypeError('x'));
    const one = stage([suspect('node-1', { identitySources: [] }), suspect('node-2')], {}, { blue: { identify } });
    const { outcomes, unreachable } = await swept(one);
    expect(unreachable).toEqual([]);
    expect(outcomes).toMatchObject([
      { machine: 'm-2' },
      { machine: '', node: 'node-1', outcome: 'failed', reason: { says: expect.stringContaining('TypeError: x') } },
    ]);
  });

  it('is unknown like all others if the cluster does not answer', async () => {
    const denied = new PermissionDenied('no');
    const identify = () => Promise.reject(denied);
    const one = stage([suspect('node-1', { identitySources: [] }), suspect('node-2')], {}, { blue: { identify } });
    expect(await swept(one)).toEqual({
      outcomes: [],
      unreachable: [{ cluster: 'blue', error: denied }],
      overdue: { fenced: [], returned: [] },
    });
    const error = new Unavailable('no route');
    const silent = clusterThat({ name: 'green', suspects: () => Promise.reject(error) });
    const both = await swept(stage([suspect('node-1')], {}, { others: [silent] }));
    expect(both).toMatchObject({ outcomes: [{ machine: 'm-1' }], unreachable: [{ cluster: 'green', error }] });
  });
});

describe('a machine that several Nodes name', () => {
  const twice = (change: Partial<SuspectNode> = {}) => [
    suspect('node-1'),
    suspect('node-2', { identitySources: [named('m-1')], ...change }),
  ];

  it('is refused, and not looked at', async () => {
    const one = stage([...twice(), suspect('node-3')]);
    expect((await swept(one)).outcomes).toMatchObject([
      { machine: 'm-3' },
      {
        machine: 'm-1',
        cluster: 'blue',
        node: 'node-1',
        outcome: 'refused',
        retry: false,
        reason: { says: expect.stringContaining('m-1: node-1 in blue, node-2 in blue;') },
      },
    ]);
    expect(one.looks).toEqual([['m-3']]);
  });

  it('is refused if the Nodes are in two clusters, and not looked at', async () => {
    const [here, there] = twice();
    const green = { ...empty, suspects: async () => (there ? [there] : []) };
    const one = stage(here ? [here] : [], {}, { others: [green] });
    expect((await swept(one)).outcomes).toMatchObject([
      {
        machine: 'm-1',
        outcome: 'refused',
        reason: { says: expect.stringContaining('node-1 in blue, node-2 in green;') },
      },
    ]);
    expect(one.looks).toEqual([]);
  });

  it('is looked at on the Node with our taint only', async () => {
    const seen: unknown[] = [];
    const observe: Ports['observe'] = (_, __, { location, ambiguity }) => void seen.push([location, ambiguity?.code]);
    const look = async () => cluster({ node: marked({}, { name: 'node-2' }) });
    const one = stage(twice({ marked: marked() }), { 'm-1': { power: 'running' } }, { blue: { look } });
    await swept({ ...one, ports: { ...one.ports, observe } }, { deadline: 1_200 });
    expect(seen[0]).toEqual([{ cluster: 'blue', node: 'node-2' }, 'identity-ambiguous']);
  });

  it('is searched for if only one of the Nodes exists', async () => {
    const seen: unknown[] = [];
    const observe: Ports['observe'] = ({ do: what }) => void seen.push(what);
    const one = stage(
      twice({ because: 'node-missing' }),
      { 'm-1': {} },
      { blue: { find: async () => ['node-1', 'node-2'], recheck: () => Promise.reject(new Refused('x')) } },
    );
    await swept({ ...one, ports: { ...one.ports, observe } }, { deadline: 1_200 });
    expect(seen[0]).toBe('look');
    expect(seen).toContain('locate');
  });

  it('is decided by the attachments if a Node is gone', async () => {
    const requests: unknown[] = [];
    const look: Cluster['look'] = async ({ node: name, attachments }) => {
      requests.push([name, attachments]);
      return cluster({ node: null });
    };
    const gone = suspect('node-1', { because: 'node-missing', attachments: ['csi-1'] });
    await swept(stage([gone], { 'm-1': {} }, { blue: { look } }), { deadline: 1_200 });
    expect(requests[0]).toEqual([null, ['csi-1']]);
  });
});

const BOOT_A = fenceInBoot('run.1', { bootID: 'boot-a' }, { generation: 'boot-1' });

describe('our taint on a Node that has booted since', () => {
  const outlived = marked({}, { taintedFor: BOOT_A, bootID: 'boot-b', name: 'node-1' });
  const lifted = { machine: '', steps: [expect.objectContaining({ step: 'lift-out-of-service', result: 'done' })] };

  it('is removed before anything else, even if nothing names the machine', async () => {
    const one = stage([suspect('node-1', { identitySources: [], marked: outlived })]);
    expect((await swept(one)).outcomes).toMatchObject([{ ...lifted, outcome: 'refused' }]);
    expect(one.applied).toMatchObject([{ do: 'lift-out-of-service', node: { name: 'node-1', bootID: 'boot-b' } }]);
    expect((await swept(one)).outcomes[0]?.reason.says).not.toContain('remove the taint');
  });

  it('is removed even if another Node cannot be read', async () => {
    const identify = () => Promise.reject(new Unavailable('no response'));
    const suspects = [suspect('node-1', { marked: outlived }), suspect('node-2', { identitySources: [] })];
    const one = stage(suspects, {}, { blue: { identify } });
    expect((await swept(one)).unreachable).toMatchObject([{ cluster: 'blue' }]);
    expect(one.applied).toMatchObject([{ do: 'lift-out-of-service', node: { name: 'node-1' } }]);
  });

  it('is removed with a permit that lasts for two seconds', async () => {
    const permitted: unknown[] = [];
    const apply: Cluster['apply'] = async (_, { check }) => {
      permitted.push(check());
      return 'done';
    };
    const timers: number[] = [];
    const one = stage([suspect('node-1', { identitySources: [], marked: outlived })], {}, { blue: { apply } });
    const clock = { ...one.ports.clock, timeout: (ms: number) => (timers.push(ms), new AbortController().signal) };
    await swept({ ...one, ports: { ...one.ports, clock } });
    expect(permitted).toEqual([undefined]);
    expect(Math.max(...timers)).toBeLessThanOrEqual(2_000);
    expect(Math.max(...timers)).toBeGreaterThan(1_900);
  });

  it('is part of the outcome of the machine’s run', async () => {
    const one = stage([suspect('node-1', { marked: outlived })]);
    expect((await swept(one)).outcomes).toMatchObject([{ ...lifted, machine: 'm-1' }]);
  });

  it('is only imagined in a dry run', async () => {
    const one = stage([suspect('node-1', { identitySources: [], marked: outlived })]);
    const { outcomes } = await swept(one, { policy: { ...defaultPolicy, dryRun: true } });
    expect(one.applied).toEqual([]);
    expect(outcomes).toMatchObject([{ steps: [{ step: 'lift-out-of-service' }] }]);
  });

  it('is reported as a failure if it cannot be removed', async () => {
    const apply = () => Promise.reject(new PermissionDenied('no'));
    const one = stage([suspect('node-1', { identitySources: [], marked: outlived })], {}, { blue: { apply } });
    expect((await swept(one)).outcomes).toMatchObject([{ outcome: 'failed', reason: { code: 'denied' } }]);
    const named = stage([suspect('node-1', { marked: outlived })], {}, { blue: { apply } });
    expect((await swept(named)).outcomes).toMatchObject([{ machine: 'm-1' }]);
  });

  it('is reported as still to be removed if the API server did not answer', async () => {
    const apply = () => Promise.reject(new Unavailable('no route'));
    const one = stage([suspect('node-1', { identitySources: [], marked: outlived })], {}, { blue: { apply } });
    expect((await swept(one)).outcomes).toMatchObject([
      { outcome: 'failed', reason: { code: 'unavailable' }, retry: true, steps: [{ result: 'failed' }] },
    ]);
  });

  it.each([
    ['of this boot', marked({}, { taintedFor: BOOT_A, bootID: 'boot-a', name: 'node-1' }), true],
    ['of an unknown boot', marked({}, { taintedFor: null, name: 'node-1' }), true],
  ])('stays if it is %s, and the sweep reports how to remove it', async (_, standing, isReported) => {
    const one = stage([suspect('node-1', { identitySources: [], marked: standing })]);
    const { outcomes } = await swept(one);
    expect(one.applied).toEqual([]);
    expect(outcomes[0]?.reason.says.includes(`remove the taint: \`${standing.untaint}\``)).toBe(isReported);
  });
});

it('a fault of Cloudfence with one deleted Node is reported as such, and hides no other Node', async () => {
  const gone = suspect('node-2', { because: 'node-missing', identitySources: [], attachments: ['csi-1'] });
  const blue = { look: async () => cluster({ node: null, volumes: [volume({ attachment: attachment() })] }) };
  const holders = () => Promise.reject(new TypeError('a bug'));
  const { outcomes, unreachable } = await swept(stage([suspect('node-1'), gone], {}, { blue, cloud: { holders } }));
  expect(unreachable).toEqual([]);
  expect(outcomes).toMatchObject([{ machine: 'm-1' }, { node: 'node-2', reason: { code: 'unexpected' } }]);
});

describe('a call that never answers', () => {
  const never = () => new Promise<never>(() => undefined);
  const impatient = (one: ReturnType<typeof stage>) => ({
    ...one,
    ports: { ...one.ports, clock: { ...one.ports.clock, timeout: () => AbortSignal.timeout(1) } },
  });

  it.each([
    ['its suspects', { suspects: never }, [suspect('node-1')]],
    ['the machine of a Node', { identify: never }, [suspect('node-1', { identitySources: [] })]],
  ])('makes the cluster unreachable, and not the sweep: %s', async (_, blue, suspects) => {
    const { unreachable } = await swept(impatient(stage(suspects, {}, { blue })));
    expect(unreachable).toMatchObject([{ cluster: 'blue', error: { name: 'Unavailable' } }]);
  });

  it('does not hide the other Nodes of its cluster if it is about the disks of a deleted Node', async () => {
    const gone = suspect('node-2', { because: 'node-missing', identitySources: [], attachments: ['csi-1'] });
    const blue = { look: async () => cluster({ node: null, volumes: [volume({ attachment: attachment() })] }) };
    const { ports, ...one } = stage([suspect('node-1'), gone], {}, { blue, cloud: { holders: never } });
    // The search of the cluster may take until 20 s, so that only what lasts less long ends here.
    const timeout = (ms: number) => (ms < 15_000 ? AbortSignal.timeout(1) : new AbortController().signal);
    const soon = { ...one, ports: { ...ports, clock: { ...ports.clock, timeout } } };
    const { outcomes, unreachable } = await swept(soon, { deadline: 40_000 });
    expect(unreachable).toEqual([]);
    expect(outcomes).toMatchObject([
      { machine: 'm-1' },
      {
        node: 'node-2',
        reason: { code: 'identity-unproven', says: expect.stringContaining('cannot read their disks') },
      },
    ]);
  });

  it('does not hold the sweep if it is the write of the ledger, or the look at all machines', async () => {
    const one = impatient(stage([suspect('node-1')], {}, { blue: { concludeUnless: never } }));
    const cloud = { ...one.ports.cloud, look: never };
    expect((await swept({ ...one, ports: { ...one.ports, cloud } })).outcomes).toMatchObject([{ machine: 'm-1' }]);
  });
});

describe('the ledger after a sweep', () => {
  const showing = async (suspects: readonly SuspectNode[], change: Partial<SharedRunOptions> = {}, more = {}) => {
    const one = stage(suspects, {}, more);
    await swept(one, change);
    return one.showing;
  };

  it('keeps the entry of each machine that may have an unfinished fence', async () => {
    expect(
      await showing([
        suspect('node-1'),
        suspect('node-2', fencing()),
        suspect('node-3', { ...parked, marked: marked() }),
        suspect('node-4', { ...parked, attachments: ['csi-1'] }),
        suspect('node-5', parked),
        suspect('node-6', { because: 'labelled' }),
      ]),
    ).toEqual([['m-1', 'm-2', 'm-3', 'm-4', 'm-6']]);
  });

  it('is not changed in a dry run, during a pause, or if the cluster did not answer', async () => {
    expect(await showing([], { policy: { ...defaultPolicy, dryRun: true } })).toEqual([]);
    expect(await showing([], { policy: { ...defaultPolicy, paused: 'holidays' } })).toEqual([]);
    expect(await showing([], {}, { blue: { suspects: () => Promise.reject(new Unavailable('x')) } })).toEqual([]);
    expect(await showing([])).toEqual([[]]);
  });

  it.each([
    ['a fence without a machine', { because: 'fenced' as const }, []],
    ['what a Node that is gone left', { because: 'node-missing' as const }, []],
    ['a silent Node', {}, [[]]],
    ['a label', { because: 'labelled' as const }, [[]]],
  ])('is not changed if %s may belong to any machine', async (_, change, expected) => {
    const nameless = suspect('node-1', { identitySources: [], ...change });
    const look = async () => cluster({ node: null, volumes: [volume({ attachment: attachment() })] });
    expect(await showing([nameless], {}, { blue: { look } })).toEqual(expected);
    const identify = () => Promise.reject(new TypeError('x'));
    const broken = () => Promise.reject(new TypeError('x'));
    expect(await showing([nameless], {}, { blue: { look: broken, identify } })).toEqual(expected);
  });

  it('is not changed if one of several fences may belong to any machine', async () => {
    const nameless = suspect('node-1', { ...fencing(), identitySources: [] });
    expect(await showing([nameless, suspect('node-2', fencing())])).toEqual([]);
    expect(await showing([suspect('node-2', fencing()), nameless])).toEqual([]);
  });

  it('is not changed if a Node that is gone left a volume that only another cloud knows', async () => {
    const gone = suspect('node-1', { because: 'node-missing', identitySources: [], attachments: ['csi-1'] });
    const foreign = volume({ driver: 'another-driver', handle: 'their-disk', key: 'another-driver^their-disk' });
    const look = async () => cluster({ node: null, volumes: [foreign] });
    expect(await showing([gone], {}, { blue: { look } })).toEqual([]);
  });

  it('ends no fence that has begun since the cluster was read, however late it is written', async () => {
    const clock = steppingClock();
    const [scans, readAts]: [number[], number[]] = [[], []];
    const suspects = async () => {
      scans.push(clock.now().wall);
      return [];
    };
    const concludeUnless: Cluster['concludeUnless'] = async (_, readAt) => void readAts.push(readAt);
    const one = stage([], {}, { blue: { suspects, concludeUnless } });
    await swept({ ...one, ports: { ...one.ports, clock } });
    expect(readAts[0]).toBeLessThan(scans[0] ?? 0);
  });

  it('that cannot be written keeps nobody from anything', async () => {
    const concludeUnless = () => Promise.reject(new Refused('x'));
    const one = stage([suspect('node-1')], {}, { blue: { concludeUnless }, others: [empty] });
    expect((await swept(one)).outcomes).toMatchObject([{ machine: 'm-1' }]);
  });
});
