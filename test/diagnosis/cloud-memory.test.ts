import { describe, expect, it } from 'vitest';
import { createCloudMemory } from '../../diagnosis/cloud-memory.ts';
import type { DiagnosedCloud } from '../../diagnosis/ports.ts';
import { PermissionDenied, Throttled, Unavailable } from '../../fencing/model/errors.ts';
import { lookInTerritories, type Territories, type Territory } from '../../providers/aws/territories.ts';
import { missingMachineFacts } from '../../providers/aws/power.ts';
import { cloudOf, ec2World } from '../sandbox/ec2/ec2-world.ts';

const KNOWN = 'i-0123456789abcdef0';
const [A, B] = ['i-0123456789abcdef1', 'i-0123456789abcdef2'] as const;

/** The home territory knows one machine. The other territory does not answer. */
const withSilentTerritory = () => {
  const cloud = cloudOf(ec2World());
  const [home, other]: readonly [Territory, Territory] = [
    { name: 'home', cloud },
    { name: 'other', cloud },
  ];
  const territories: Territories = { home, others: [other], owners: new Map() };
  const asked: (readonly string[])[] = [];
  const look: DiagnosedCloud['look'] = (machines) => {
    asked.push(machines);
    return lookInTerritories(machines, territories, async (territory, ids) => {
      if (territory === other) throw new Unavailable('the other territory is down');
      return ids.map((id) => ({ ...missingMachineFacts(id, null), ...(id === KNOWN ? { power: 'off' } : {}) }));
    });
  };
  const memory = createCloudMemory({
    cloud: { rules: cloud, look, disks: async () => [] },
    signal: new AbortController().signal,
  });
  return { memory, asked };
};

it('says why a machine is unknown if the answer about several machines omits it', async () => {
  const { memory } = withSilentTerritory();
  await memory.lookAt([KNOWN, A, B]);
  expect(memory.machine(KNOWN)).toMatchObject({ power: 'off' });
  expect([memory.machine(A), memory.machine(B)]).toEqual(['unread', 'unread']);
  expect(memory.unread()).toEqual(['the other territory is down']);
});

it('says so if the cloud answers but omits everything that was asked', async () => {
  const cloud: DiagnosedCloud = { rules: cloudOf(ec2World()), look: async () => [], disks: async () => [] };
  const memory = createCloudMemory({ cloud, signal: new AbortController().signal });
  await memory.lookAt([A]);
  expect(memory.unread()).toEqual([`the response of the cloud does not contain ${A}`]);
});

it('asks once more, only about the machines that an answer about several omitted', async () => {
  const { memory, asked } = withSilentTerritory();
  await memory.lookAt([KNOWN, A, B]);
  await memory.lookAt([KNOWN, A]);
  expect(asked).toEqual([
    [KNOWN, A, B],
    [A, B],
  ]);
});

describe('a machine that the credentials may not read hides nothing else:', () => {
  const signal = new AbortController().signal;

  /** A cloud that denies some machines with different messages, as Azure and Google Cloud do. */
  const asking = (answer: (machines: readonly string[]) => Error | null) => {
    const asked: (readonly string[])[] = [];
    const look: DiagnosedCloud['look'] = async (machines) => {
      asked.push(machines);
      const error = answer(machines);
      if (error) throw error;
      return machines.map((id) => ({ ...missingMachineFacts(id, null), power: 'off' }));
    };
    const cloud = { rules: cloudOf(ec2World()), look, disks: async () => [] };
    return { asked, memory: createCloudMemory({ cloud, signal }) };
  };

  it('two machines of many', async () => {
    const { memory } = asking((machines) => {
      const denied = machines.find((id) => id === A || id === B);
      return denied === undefined ? null : new PermissionDenied(`${denied} may not be read`);
    });
    await memory.lookAt([A, KNOWN, B]);
    expect([A, KNOWN, B].map((id) => memory.machine(id))).toEqual([
      'unread',
      expect.objectContaining({ power: 'off' }),
      'unread',
    ]);
    expect(memory.unread().toSorted()).toEqual([`${A} may not be read`, `${B} may not be read`]);
  });

  const many = Array.from({ length: 64 }, (_, at) => `i-${String(at).padStart(17, '0')}`);

  it('asks at most three times if everything is denied', async () => {
    const { memory, asked } = asking(() => new PermissionDenied('no credentials'));
    await memory.lookAt(many);
    expect(memory.unread()).toEqual(['no credentials']);
    expect(asked).toHaveLength(3);
  });

  it.each([new Throttled('too many calls'), new Unavailable('no answer')])(
    'asks once if the cloud does not answer: %s',
    async (error) => {
      const { memory, asked } = asking(() => error);
      await memory.lookAt(many);
      expect(memory.unread()).toEqual([error.message]);
      expect(asked).toHaveLength(1);
    },
  );
});

it('answers two questions about one machine at the same time with one read', async () => {
  const { memory, asked } = withSilentTerritory();
  const first = memory.lookAt([KNOWN]);
  await memory.lookAt([KNOWN]);
  expect(memory.machine(KNOWN)).toMatchObject({ power: 'off' });
  await first;
  expect(asked).toEqual([[KNOWN]]);
});
