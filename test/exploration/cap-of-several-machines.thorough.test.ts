import { expect, it } from 'vitest';
import { permissionCheckOf, largeScenarios } from './cap-of-several-machines.ts';
import { exploreOrders } from './ledger-orders.ts';

it.each(largeScenarios.map((scenario) => [scenario.says, scenario] as const))(
  'several machines under one cap, in every order of their calls: %s',
  { timeout: 600_000 },
  async (_, scenario) => {
    const { states, broken } = await exploreOrders(scenario, permissionCheckOf(scenario));
    expect(broken).toBeNull();
    expect(states).toBeGreaterThan(100);
  },
);
