import { addInstance } from '../../sandbox/ec2/scenario.ts';
import type { PolicyDocument, Statement } from '../../sandbox/ec2/iam/policy-document.ts';
import { until } from '../testbed/until.ts';
import { functionName } from './access.ts';
import type { Installed } from './installed.ts';
import type { RoleFixtures, Scenario } from './role-scenarios.ts';
import { without, type ShippedAction } from './shipped-actions.ts';
import { ageLease, deleteNode, stopIn, type Holder } from './stopping-machines.ts';

/** Plays stories with a shipped role, and with the same role without one action. Returns how they ended. */
export interface Trial {
  readonly missing: (scenario: Scenario, shipped: ShippedAction) => Promise<unknown>;
  readonly whole: (scenario: Scenario, name: string) => Promise<unknown>;
  /** Stops the machines that have the disks. They have been silent for a long time. */
  readonly stop: (...names: readonly string[]) => Promise<void>;
  readonly dead: (name: string) => Holder;
  readonly deleteSilentNode: (name: string) => void;
}

/** The functions that fence. */
export const FENCING = ['on-event', 'sweep', 'replay', 'fence'];

export const HOLDERS_FOR_TRIALS = 2 * FENCING.length + 1;

const placesIn = (deployed: Installed, first: number): ((name: string) => RoleFixtures) => {
  const stray = addInstance(deployed.world, { state: 'stopped' });
  const stopping = deployed.holder(first + 2 * FENCING.length);
  stopIn(deployed.world, stopping, 3_600_000);
  return (name) => {
    const at = first + 2 * Math.max(0, FENCING.indexOf(name));
    return { dead: deployed.holder(at), silent: deployed.holder(at + 1), stopping, stray };
  };
};

/** `first`: the holders that no other test needs. `more`: what roles are shipped with and this stage does not have. */
export const trialOn = (
  deployed: Installed,
  first: number,
  more: Readonly<Record<string, readonly Statement[]>>,
): Trial => {
  const places = placesIn(deployed, first);
  const { ministack, roles } = deployed;
  const wholeOf = async (name: string): Promise<PolicyDocument> => {
    const policy = await roles.policyOf(name);
    return { ...policy, Statement: [...policy.Statement, ...(more[name] ?? [])] };
  };
  /** Restarts the process, because results that it read with another role must not count. */
  const playing = async (scenario: Scenario, name: string): Promise<unknown> => {
    await ministack.forget(functionName(name));
    return scenario.play(deployed, name, places(name));
  };
  const playedWith = async (scenario: Scenario, name: string, policy: PolicyDocument): Promise<unknown> => {
    const shipped = await roles.policyOf(name);
    await roles.put(name, policy);
    try {
      return await playing(scenario, name);
    } finally {
      await roles.put(name, shipped);
    }
  };
  return {
    missing: async (scenario, shipped) =>
      playedWith(scenario, shipped.name, without(await wholeOf(shipped.name), shipped)),
    whole: async (scenario, name) => playedWith(scenario, name, await wholeOf(name)),
    stop: async (...names) => {
      for (const name of names) stopIn(deployed.world, places(name).dead, 500);
      for (const name of names)
        await until(`the machine of ${name} is off`, async () => deployed.stateOf(places(name).dead) === 'stopped');
      for (const name of names) ageLease(deployed.world, places(name).dead);
    },
    dead: (name) => places(name).dead,
    deleteSilentNode: (name) => deleteNode(deployed.world, places(name).silent),
  };
};
