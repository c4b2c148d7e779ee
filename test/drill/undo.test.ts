import { describe, expect, it } from 'vitest';
import { demoCloud } from '../../demo/aws-cloud.ts';
import type { DrillResult, DrillTools } from '../../drill/tools.ts';
import { type CloudfenceError, PermissionDenied, Refused, Throttled } from '../../fencing/model/errors.ts';
import type { Power } from '../../fencing/model/machine.ts';
import { awsDrill } from '../../providers/aws/drill.ts';
import { ec2Clients } from '../../providers/aws/client.ts';
import { SANDBOX_REGION, type AwsParts } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject, listObjects } from '../../sandbox/cluster/get-objects.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import { type Fixture, type FixtureTools, withFixture } from './fixture.ts';

/** However a drill ends, its machine runs and its Node has no fence, or the report says what is left. */

const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };

const onAws = (work: (fixture: Fixture<AwsParts>) => Promise<void>, installed = false): Promise<void> =>
  withFixture(
    {
      demoCloud,
      drillCloud: async (endpoint) =>
        awsDrill([ec2Clients({ region: SANDBOX_REGION, endpoint, credentials })], endpoint),
      installed,
    },
    work,
  );

const traces = ({ world, node }: Fixture<AwsParts>) => {
  const found = getObject(world, 'nodes', node);
  const labels = Object.keys(found?.metadata.labels ?? {}).filter((key) => /fenced|out-of-service/.test(key));
  return [...(found?.spec.taints ?? []).map(({ key }) => key), ...labels];
};

const powerOf = ({ world, scene }: Fixture<AwsParts>): string | undefined => instanceIn(world, scene.spare)?.state;

const expectUndone = (fixture: Fixture<AwsParts>): void => {
  expect(powerOf(fixture)).toBe('running');
  expect(traces(fixture)).toEqual([]);
  expect(getObject(fixture.world, 'statefulsets', 'cloudfence-drill', 'default')).toBeUndefined();
};

const RELEASE = expect.stringContaining('cloudfence release ip-');

describe('a drill that fences by itself', () => {
  it.each(['the Node is marked', 'the old attachment is gone'])(
    'releases its fence if a person interrupts it when %s',
    (moment) =>
      onAws(async (fixture) => {
        const tell = (says: string): void => {
          if (says.includes(moment)) fixture.ending.abort(new Error('interrupted'));
        };
        const result = await fixture.drill({}, { here: true, tell });
        expect(result).toMatchObject({ end: 'interrupted', left: [] });
        expectUndone(fixture);
      }),
  );

  it('releases its fence if its time runs out', () =>
    onAws(async (fixture) => {
      const result = await fixture.drill({ timeout: 8_000 }, { here: true });
      expect(result.end, result.says).not.toBe('recovered');
      expect(result.stoppedAt).not.toBeNull();
      expect(result.left).toEqual([]);
      expectUndone(fixture);
    }));

  it('says that the Node is still fenced, and how to end that, if a person also interrupts the cleanup', () =>
    onAws(async (fixture) => {
      const giveUp = new AbortController();
      const tell = (says: string): void => {
        if (says.includes('the Node is marked')) fixture.ending.abort(new Error('interrupted'));
        if (says.startsWith('waits until')) giveUp.abort(new Error('interrupted again'));
      };
      const result = await fixture.drill({}, { here: true, tell, giveUp: giveUp.signal });
      expect(result.left).toContainEqual(expect.objectContaining({ remedy: RELEASE }));
    }));
});

it('a drill does not touch the canary of another drill that has the same name', () =>
  onAws(async (fixture) => {
    const tell = (says: string): void => {
      if (!says.startsWith('the canary runs on')) return;
      const set = getObject(fixture.world, 'statefulsets', 'cloudfence-drill', 'default');
      if (set)
        for (const kind of ['statefulsets', 'pods', 'persistentvolumeclaims'] as const)
          for (const part of listObjects(fixture.world, kind).filter(({ metadata }) =>
            metadata.name.includes('cloudfence-drill'),
          ))
            writerAs(fixture.world, 'another drill').change(kind, part, ({ metadata }) => {
              metadata.labels = { ...metadata.labels, 'cloudfence.dev/drill': 'another' };
            });
      fixture.ending.abort(new Error('interrupted'));
    };
    const result = await fixture.drill({}, { here: true, tell });
    expect(result.end).toBe('interrupted');
    expect(getObject(fixture.world, 'statefulsets', 'cloudfence-drill', 'default')?.metadata).not.toHaveProperty(
      'deletionTimestamp',
    );
    expect(getObject(fixture.world, 'pods', 'cloudfence-drill-0', 'default')).toBeDefined();
    expect(getObject(fixture.world, 'persistentvolumeclaims', 'data-cloudfence-drill-0', 'default')).toBeDefined();
  }));

describe('two drills', () => {
  const RESERVED = 'cloudfence.node-restriction.kubernetes.io/drill-reserved-by';
  const reservationOn = ({ world, node }: Fixture<AwsParts>) =>
    getObject(world, 'nodes', node)?.metadata.labels?.[RESERVED];

  it('do not stop one Node at the same time, even with their canaries in two namespaces', () =>
    onAws(async (fixture) => {
      const other = { namespace: 'other', image: 'example.org/pause:1', storageClass: null };
      const second: Promise<DrillResult>[] = [];
      const tell = (says: string): void => {
        if (says.startsWith('the canary runs on')) second.push(fixture.drill({ canary: other }, { drill: 'second' }));
        if (says.includes('the Node is marked')) fixture.ending.abort(new Error('interrupted'));
      };
      const first = await fixture.drill({}, { here: true, tell, drill: 'first' });
      const [refused] = await Promise.all(second);
      expect(refused).toMatchObject({ end: 'refused', stoppedAt: null, left: [] });
      expect(refused?.says).toContain('another drill (first) has reserved Node');
      expect(first).toMatchObject({ end: 'interrupted', left: [] });
      expectUndone(fixture);
      expect(reservationOn(fixture)).toBeUndefined();
    }));

  it('that begin at the same moment: one of them gets the Node', () =>
    onAws(async (fixture) => {
      const [first, second] = await Promise.all(
        ['first', 'second'].map((drill) => {
          const canary = { namespace: drill, image: 'example.org/pause:1', storageClass: null };
          return fixture.drill({ canary, timeout: 5_000 }, { drill });
        }),
      );
      expect([first?.end, second?.end].filter((end) => end === 'refused')).toHaveLength(1);
      expect([...(first?.left ?? []), ...(second?.left ?? [])]).toEqual([]);
      expectUndone(fixture);
      expect(reservationOn(fixture)).toBeUndefined();
    }));

  it('stop nothing if the reservation is removed before the stop', () =>
    onAws(async (fixture) => {
      const tell = (says: string): void => {
        if (says.startsWith('the canary runs on')) fixture.label({ [RESERVED]: 'another' });
      };
      const result = await fixture.drill({}, { tell, drill: 'first' });
      expect(result).toMatchObject({ end: 'failed', stoppedAt: null, left: [] });
      expect(result.says).toContain('another drill (another) has reserved Node');
      expect(reservationOn(fixture)).toBe('another');
    }));
});

/** The line after which a person interrupts a drill. */
const moments = ['creates a StatefulSet', 'the canary runs on', 'stops i-', 'starts i-', 'the fence is released'];

it.each(moments)('a drill that a person interrupts at "%s" leaves nothing behind', (moment) =>
  onAws(async (fixture) => {
    const tell = (says: string): void => {
      if (says.includes(moment)) fixture.ending.abort(new Error('interrupted'));
    };
    const result = await fixture.drill({}, { here: true, tell });
    expect(result).toMatchObject({ left: [] });
    expect(fixture.ending.signal.aborted, fixture.progressLines.join('\n')).toBe(true);
    fixture.world.advance(60_000);
    expectUndone(fixture);
    expect(listObjects(fixture.world, 'pods').filter(({ metadata }) => metadata.name.includes('drill'))).toEqual([]);
    expect(Object.keys(getObject(fixture.world, 'nodes', fixture.node)?.metadata.labels ?? {}).join()).not.toMatch(
      /reserved/,
    );
  }),
);

describe('a drill with installed functions', () => {
  it('waits until they release the fence if a person interrupts it', () =>
    onAws(async (fixture) => {
      const tell = (says: string): void => {
        if (says.includes('the Node is marked')) fixture.ending.abort(new Error('interrupted'));
      };
      const result = await fixture.drill({}, { tell });
      expect(result).toMatchObject({ end: 'interrupted', left: [] });
      expectUndone(fixture);
    }, true));
});

type Opened = Parameters<NonNullable<FixtureTools['spoiled']>>[0];

/** A cloud that accepts each start, reports `said` for a while, and leaves the machine off. */
const acceptsAndFails =
  (said: readonly Power[]) =>
  ({ cloud, drillCloud }: Opened): Partial<DrillTools> => {
    const powers: Power[] = [];
    return {
      drillCloud: { ...drillCloud, start: async () => void powers.push(...said) },
      cloud: {
        ...cloud,
        look: async (...asked) => {
          const power = powers.shift();
          const facts = await cloud.look(...asked);
          return power === undefined ? facts : facts.map((one) => ({ ...one, power }));
        },
      },
    };
  };

describe('a machine that does not start again', () => {
  it.each([{ said: ['starting'] }, { said: ['starting', 'running'] }, { said: ['running', 'running'] }] as const)(
    'is in the report with the command, after the cloud accepted the start and said $said',
    ({ said }) =>
      onAws(async (fixture) => {
        const result = await fixture.drill({ timeout: 120_000 }, { spoiled: acceptsAndFails(said) });
        expect(powerOf(fixture)).toBe('stopped');
        expect(result.end).not.toBe('recovered');
        expect(result.left).toContainEqual({
          says: expect.stringContaining('may be off'),
          remedy: `aws ec2 start-instances --instance-ids ${fixture.scene.spare}`,
        });
      }, true),
  );

  it('is given up after a while, and the report quotes the cloud', () =>
    onAws(async (fixture) => {
      let calls = 0;
      const start = async (): Promise<void> => {
        calls += 1;
        throw new Refused('InsufficientInstanceCapacity: come back later');
      };
      const spoiled = ({ drillCloud }: Opened) => ({ drillCloud: { ...drillCloud, start } });
      const result = await fixture.drill({ timeout: 120_000 }, { spoiled });
      expect(calls).toBeLessThan(300);
      expect(fixture.progressLines.join('\n')).toMatch(/does not run yet: InsufficientInstanceCapacity/);
      expect(result).toMatchObject({ end: 'failed', says: expect.stringContaining('InsufficientInstanceCapacity') });
      const [machine, node] = result.left;
      expect(machine?.says).toMatch(/may be off.*InsufficientInstanceCapacity/);
      expect(node).toMatchObject({ says: expect.stringContaining('is fenced'), remedy: RELEASE });
    }, true));
});

const RESERVED_LABEL = /drill-reserved-by/;

const leftBehind = ({ world, node }: Fixture<AwsParts>): string =>
  [
    ...Object.keys(getObject(world, 'nodes', node)?.metadata.labels ?? {}).filter((key) => RESERVED_LABEL.test(key)),
    ...listObjects(world, 'statefulsets').flatMap(({ metadata: { name } }) => (/drill/.test(name) ? name : [])),
  ].join();

describe.each(['free', 'remove'] as const)('a cleanup whose request to %s fails', (call) => {
  /** Interrupts a drill early, and makes its first requests of this kind fail. */
  const interrupted = async (fixture: Fixture<AwsParts>, times: number, error: CloudfenceError) => {
    let calls = 0;
    const failing =
      <Args extends readonly unknown[], T>(send: (...args: Args) => Promise<T>) =>
      async (...args: Args): Promise<T> => {
        calls += 1;
        if (calls <= times) throw error;
        return send(...args);
      };
    const spoiled = ({ drillCluster }: Opened) => {
      const { free, remove } = drillCluster;
      const changed = call === 'free' ? { free: failing(free) } : { remove: failing(remove) };
      return { drillCluster: { ...drillCluster, ...changed } };
    };
    const tell = (says: string): void => {
      if (says.startsWith('the canary runs on')) fixture.ending.abort(new Error('interrupted'));
    };
    return { ...(await fixture.drill({}, { tell, spoiled, drill: 'first' })), calls };
  };

  it('is tried again if a server is busy', () =>
    onAws(async (fixture) => {
      const result = await interrupted(fixture, 20, new Throttled('too many requests'));
      expect(result).toMatchObject({ end: 'interrupted', left: [] });
      expect(leftBehind(fixture)).toBe('');
    }));

  it('is given up when the time of the cleanup is over', () =>
    onAws(async (fixture) => {
      const before = fixture.world.now();
      const result = await interrupted(fixture, Infinity, new Throttled('too many requests'));
      expect(result.left).toEqual([
        { says: expect.stringContaining('too many requests'), remedy: expect.stringContaining('kubectl') },
      ]);
      expect(fixture.world.now() - before).toBeGreaterThan(5 * 60_000);
      expect(fixture.world.now() - before).toBeLessThan(8 * 60_000);
    }));

  it('is not tried again if a permission is missing', () =>
    onAws(async (fixture) => {
      const result = await interrupted(fixture, Infinity, new PermissionDenied('forbidden'));
      expect(result).toMatchObject({ calls: 1, left: [{ says: expect.stringContaining('forbidden') }] });
    }));
});
