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
import { type Rig, type RigTools, withRig } from './rig.ts';

/** However a drill ends, its machine runs and its Node has no fence, or the report says what is left. */

const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };

const onAws = (work: (rig: Rig<AwsParts>) => Promise<void>, installed = false): Promise<void> =>
  withRig(
    {
      demoCloud,
      drillCloud: async (endpoint) =>
        awsDrill([ec2Clients({ region: SANDBOX_REGION, endpoint, credentials })], endpoint),
      installed,
    },
    work,
  );

const traces = ({ world, node }: Rig<AwsParts>) => {
  const found = getObject(world, 'nodes', node);
  const labels = Object.keys(found?.metadata.labels ?? {}).filter((key) => /fenced|out-of-service/.test(key));
  return [...(found?.spec.taints ?? []).map(({ key }) => key), ...labels];
};

const powerOf = ({ world, scene }: Rig<AwsParts>): string | undefined => instanceIn(world, scene.spare)?.state;

const expectUndone = (rig: Rig<AwsParts>): void => {
  expect(powerOf(rig)).toBe('running');
  expect(traces(rig)).toEqual([]);
  expect(getObject(rig.world, 'statefulsets', 'cloudfence-drill', 'default')).toBeUndefined();
};

const RELEASE = expect.stringContaining('cloudfence release ip-');

describe('a drill that fences by itself', () => {
  it.each(['the Node is marked', 'the old attachment is gone'])(
    'releases its fence if a person interrupts it when %s',
    (moment) =>
      onAws(async (rig) => {
        const tell = (says: string): void => {
          if (says.includes(moment)) rig.ending.abort(new Error('interrupted'));
        };
        const result = await rig.drill({}, { here: true, tell });
        expect(result).toMatchObject({ end: 'interrupted', left: [] });
        expectUndone(rig);
      }),
  );

  it('releases its fence if its time runs out', () =>
    onAws(async (rig) => {
      const result = await rig.drill({ timeout: 8_000 }, { here: true });
      expect(result.end, result.says).not.toBe('recovered');
      expect(result.stoppedAt).not.toBeNull();
      expect(result.left).toEqual([]);
      expectUndone(rig);
    }));

  it('says that the Node is still fenced, and how to end that, if a person also interrupts the cleanup', () =>
    onAws(async (rig) => {
      const giveUp = new AbortController();
      const tell = (says: string): void => {
        if (says.includes('the Node is marked')) rig.ending.abort(new Error('interrupted'));
        if (says.startsWith('waits until')) giveUp.abort(new Error('interrupted again'));
      };
      const result = await rig.drill({}, { here: true, tell, giveUp: giveUp.signal });
      expect(result.left).toContainEqual(expect.objectContaining({ remedy: RELEASE }));
    }));
});

it('a drill does not touch the canary of another drill that has the same name', () =>
  onAws(async (rig) => {
    const tell = (says: string): void => {
      if (!says.startsWith('the canary runs on')) return;
      const set = getObject(rig.world, 'statefulsets', 'cloudfence-drill', 'default');
      if (set)
        for (const kind of ['statefulsets', 'pods', 'persistentvolumeclaims'] as const)
          for (const part of listObjects(rig.world, kind).filter(({ metadata }) =>
            metadata.name.includes('cloudfence-drill'),
          ))
            writerAs(rig.world, 'another drill').change(kind, part, ({ metadata }) => {
              metadata.labels = { ...metadata.labels, 'cloudfence.dev/drill': 'another' };
            });
      rig.ending.abort(new Error('interrupted'));
    };
    const result = await rig.drill({}, { here: true, tell });
    expect(result.end).toBe('interrupted');
    expect(getObject(rig.world, 'statefulsets', 'cloudfence-drill', 'default')?.metadata).not.toHaveProperty(
      'deletionTimestamp',
    );
    expect(getObject(rig.world, 'pods', 'cloudfence-drill-0', 'default')).toBeDefined();
    expect(getObject(rig.world, 'persistentvolumeclaims', 'data-cloudfence-drill-0', 'default')).toBeDefined();
  }));

describe('two drills', () => {
  const RESERVED = 'cloudfence.node-restriction.kubernetes.io/drill-reserved-by';
  const reservationOn = ({ world, node }: Rig<AwsParts>) =>
    getObject(world, 'nodes', node)?.metadata.labels?.[RESERVED];

  it('do not stop one Node at the same time, even with their canaries in two namespaces', () =>
    onAws(async (rig) => {
      const other = { namespace: 'other', image: 'example.org/pause:1', storageClass: null };
      const second: Promise<DrillResult>[] = [];
      const tell = (says: string): void => {
        if (says.startsWith('the canary runs on')) second.push(rig.drill({ canary: other }, { drill: 'second' }));
        if (says.includes('the Node is marked')) rig.ending.abort(new Error('interrupted'));
      };
      const first = await rig.drill({}, { here: true, tell, drill: 'first' });
      const [refused] = await Promise.all(second);
      expect(refused).toMatchObject({ end: 'refused', stoppedAt: null, left: [] });
      expect(refused?.says).toContain('another drill (first) has reserved Node');
      expect(first).toMatchObject({ end: 'interrupted', left: [] });
      expectUndone(rig);
      expect(reservationOn(rig)).toBeUndefined();
    }));

  it('that begin at the same moment: one of them gets the Node', () =>
    onAws(async (rig) => {
      const [first, second] = await Promise.all(
        ['first', 'second'].map((drill) => {
          const canary = { namespace: drill, image: 'example.org/pause:1', storageClass: null };
          return rig.drill({ canary, timeout: 5_000 }, { drill });
        }),
      );
      expect([first?.end, second?.end].filter((end) => end === 'refused')).toHaveLength(1);
      expect([...(first?.left ?? []), ...(second?.left ?? [])]).toEqual([]);
      expectUndone(rig);
      expect(reservationOn(rig)).toBeUndefined();
    }));

  it('stop nothing if the reservation is removed before the stop', () =>
    onAws(async (rig) => {
      const tell = (says: string): void => {
        if (says.startsWith('the canary runs on')) rig.label({ [RESERVED]: 'another' });
      };
      const result = await rig.drill({}, { tell, drill: 'first' });
      expect(result).toMatchObject({ end: 'failed', stoppedAt: null, left: [] });
      expect(result.says).toContain('another drill (another) has reserved Node');
      expect(reservationOn(rig)).toBe('another');
    }));
});

/** The line after which a person interrupts a drill. */
const moments = ['creates a StatefulSet', 'the canary runs on', 'stops i-', 'starts i-', 'the fence is released'];

it.each(moments)('a drill that a person interrupts at "%s" leaves nothing behind', (moment) =>
  onAws(async (rig) => {
    const tell = (says: string): void => {
      if (says.includes(moment)) rig.ending.abort(new Error('interrupted'));
    };
    const result = await rig.drill({}, { here: true, tell });
    expect(result).toMatchObject({ left: [] });
    expect(rig.ending.signal.aborted, rig.progressLines.join('\n')).toBe(true);
    rig.world.advance(60_000);
    expectUndone(rig);
    expect(listObjects(rig.world, 'pods').filter(({ metadata }) => metadata.name.includes('drill'))).toEqual([]);
    expect(Object.keys(getObject(rig.world, 'nodes', rig.node)?.metadata.labels ?? {}).join()).not.toMatch(/reserved/);
  }),
);

describe('a drill with installed functions', () => {
  it('waits until they release the fence if a person interrupts it', () =>
    onAws(async (rig) => {
      const tell = (says: string): void => {
        if (says.includes('the Node is marked')) rig.ending.abort(new Error('interrupted'));
      };
      const result = await rig.drill({}, { tell });
      expect(result).toMatchObject({ end: 'interrupted', left: [] });
      expectUndone(rig);
    }, true));
});

type Opened = Parameters<NonNullable<RigTools['spoiled']>>[0];

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
      onAws(async (rig) => {
        const result = await rig.drill({ timeout: 120_000 }, { spoiled: acceptsAndFails(said) });
        expect(powerOf(rig)).toBe('stopped');
        expect(result.end).not.toBe('recovered');
        expect(result.left).toContainEqual({
          says: expect.stringContaining('may be off'),
          remedy: `aws ec2 start-instances --instance-ids ${rig.scene.spare}`,
        });
      }, true),
  );

  it('is given up after a while, and the report quotes the cloud', () =>
    onAws(async (rig) => {
      let calls = 0;
      const start = async (): Promise<void> => {
        calls += 1;
        throw new Refused('InsufficientInstanceCapacity: come back later');
      };
      const spoiled = ({ drillCloud }: Opened) => ({ drillCloud: { ...drillCloud, start } });
      const result = await rig.drill({ timeout: 120_000 }, { spoiled });
      expect(calls).toBeLessThan(300);
      expect(rig.progressLines.join('\n')).toMatch(/does not run yet: InsufficientInstanceCapacity/);
      expect(result).toMatchObject({ end: 'failed', says: expect.stringContaining('InsufficientInstanceCapacity') });
      const [machine, node] = result.left;
      expect(machine?.says).toMatch(/may be off.*InsufficientInstanceCapacity/);
      expect(node).toMatchObject({ says: expect.stringContaining('is fenced'), remedy: RELEASE });
    }, true));
});

const RESERVED_LABEL = /drill-reserved-by/;

const leftBehind = ({ world, node }: Rig<AwsParts>): string =>
  [
    ...Object.keys(getObject(world, 'nodes', node)?.metadata.labels ?? {}).filter((key) => RESERVED_LABEL.test(key)),
    ...listObjects(world, 'statefulsets').flatMap(({ metadata: { name } }) => (/drill/.test(name) ? name : [])),
  ].join();

describe.each(['free', 'remove'] as const)('a cleanup whose request to %s fails', (call) => {
  /** Interrupts a drill early, and makes its first requests of this kind fail. */
  const interrupted = async (rig: Rig<AwsParts>, times: number, error: CloudfenceError) => {
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
      if (says.startsWith('the canary runs on')) rig.ending.abort(new Error('interrupted'));
    };
    return { ...(await rig.drill({}, { tell, spoiled, drill: 'first' })), calls };
  };

  it('is tried again if a server is busy', () =>
    onAws(async (rig) => {
      const result = await interrupted(rig, 20, new Throttled('too many requests'));
      expect(result).toMatchObject({ end: 'interrupted', left: [] });
      expect(leftBehind(rig)).toBe('');
    }));

  it('is given up when the time of the cleanup is over', () =>
    onAws(async (rig) => {
      const before = rig.world.now();
      const result = await interrupted(rig, Infinity, new Throttled('too many requests'));
      expect(result.left).toEqual([
        { says: expect.stringContaining('too many requests'), remedy: expect.stringContaining('kubectl') },
      ]);
      expect(rig.world.now() - before).toBeGreaterThan(5 * 60_000);
      expect(rig.world.now() - before).toBeLessThan(8 * 60_000);
    }));

  it('is not tried again if a permission is missing', () =>
    onAws(async (rig) => {
      const result = await interrupted(rig, Infinity, new PermissionDenied('forbidden'));
      expect(result).toMatchObject({ calls: 1, left: [{ says: expect.stringContaining('forbidden') }] });
    }));
});
