import { expect, it } from 'vitest';
import { createCloudMemory } from '../../diagnosis/cloud-memory.ts';
import type { DiagnosedCloud } from '../../diagnosis/ports.ts';
import { Unavailable } from '../../fencing/model/errors.ts';
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

it('says why a machine is unknown that the answer about several leaves out', async () => {
  const { memory } = withSilentTerritory();
  await memory.lookAt([KNOWN, A, B]);
  expect(memory.machine(KNOWN)).toMatchObject({ power: 'off' });
  expect([memory.machine(A), memory.machine(B)]).toEqual(['unread', 'unread']);
  expect(memory.unread()).toEqual(['the other territory is down']);
});

it('says so if the cloud answers and leaves out all that was asked', async () => {
  const cloud: DiagnosedCloud = { rules: cloudOf(ec2World()), look: async () => [], disks: async () => [] };
  const memory = createCloudMemory({ cloud, signal: new AbortController().signal });
  await memory.lookAt([A]);
  expect(memory.unread()).toEqual([`the response of the cloud does not contain ${A}`]);
});

it('asks once more, only for what is left out together with others', async () => {
  const { memory, asked } = withSilentTerritory();
  await memory.lookAt([KNOWN, A, B]);
  await memory.lookAt([KNOWN, A]);
  expect(asked).toEqual([
    [KNOWN, A, B],
    [A, B],
  ]);
});
