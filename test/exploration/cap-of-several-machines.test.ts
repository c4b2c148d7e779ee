import { describe, expect, it } from 'vitest';
import { permissionCheckOf, smallScenarios, unsafeScenarios } from './cap-of-several-machines.ts';
import { exploreOrders } from './ledger-orders.ts';

/** Many of them in one process take turns at the API server of the sandbox, so they take longer than other tests. */
const LONG_TIMEOUT = { timeout: 120_000 };

describe('several machines under one cap, in every order of their calls', () => {
  it.each(smallScenarios.map((scenario) => [scenario.says, scenario] as const))(
    '%s',
    LONG_TIMEOUT,
    async (_, scenario) => {
      const { states, broken } = await exploreOrders(scenario, permissionCheckOf(scenario));
      expect(broken).toBeNull();
      expect(states).toBeGreaterThan(20);
    },
  );

  it.each(unsafeScenarios.map((scenario) => [scenario.says, scenario] as const))(
    'breaks as an unsafe variant: %s',
    LONG_TIMEOUT,
    async (_, scenario) => {
      const { broken } = await exploreOrders(scenario, permissionCheckOf(scenario));
      expect(broken?.says).toMatch(/^(more fences|a fence) /);
    },
  );
});
