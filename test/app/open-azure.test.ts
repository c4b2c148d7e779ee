import { afterEach, describe, expect, it } from 'vitest';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { PermissionDenied, InvalidConfiguration } from '../../fencing/model/errors.ts';
import { addFault, type InjectedFailure } from '../../sandbox/azure/faults.ts';
import { openArmServer } from '../../sandbox/azure/arm-server.ts';
import type { CloudServer } from '../../sandbox/cloud-server.ts';
import { addMachine } from '../../sandbox/azure/scenario.ts';
import { openAzure } from '../../providers/azure/plugin/open.ts';
import { azureWorld, patient, prefix, subscription } from '../sandbox/azure/azure-world.ts';

let armServer: CloudServer | undefined;
afterEach(() => armServer?.close());

const opened = async (mishap?: InjectedFailure) => {
  const world = azureWorld();
  const machine = addMachine(world, { set: 'Pool' });
  if (mishap) addFault(world.parts.azure, { mishap });
  armServer = await openArmServer(world);
  return { machine, world, kit: await openAzure({ subscription, endpoint: armServer.url }) };
};

describe('Azure as configured', () => {
  it('reads events and looks at their machines at the configured endpoint', async () => {
    const { machine, kit } = await opened();
    const { hints } = kit.readHints({ resourceId: `${prefix}/virtualmachinescalesets/pool` });
    const machines = await kit.expand(
      hints.map((hint) => hint.machine),
      patient(),
    );
    expect(await kit.cloud.look(machines, { disks: false }, patient())).toMatchObject([{ machine, power: 'running' }]);
  });

  it('reports how far its role reaches, if Azure answers that without side effects', async () => {
    const { kit } = await opened();
    expect(await kit.probes[0]?.ask(patient())).toMatch(/can read machines and disks in the whole subscription/);
    await armServer?.close();
    const narrow = await opened({ kind: 'error', code: 'AuthorizationFailed', status: 403 });
    expect(await narrow.kit.probes[0]?.ask(patient())).toMatch(/cannot read the whole subscription/);
  });

  it('asks which calls it may make, and reports if it may not ask', async () => {
    const { kit, machine, world } = await opened();
    const orders = () =>
      kit.probes[0]?.destructiveCalls(
        { policy: { ...defaultPolicy, unreachable: 'power-off' }, machines: [machine] },
        patient(),
      );
    expect(await orders()).toMatchObject([{ what: 'may detach disks and power off machines', verdict: 'ok' }]);
    world.parts.azure.knobs.allowedActions = [
      'Microsoft.Compute/*/read',
      'Microsoft.Compute/virtualMachineScaleSets/virtualMachines/attachDetachDataDisks/action',
    ];
    expect(await orders()).toMatchObject([
      {
        verdict: 'fail',
        says: expect.stringMatching(/do not have \S*virtualMachines\/powerOff\/action on \/subscriptions\S+:/),
      },
    ]);
    world.parts.azure.knobs.allowedActions = null;
    expect(await orders()).toMatchObject([
      { verdict: 'warn', says: expect.stringMatching(/permissions\/read returned AuthorizationFailed.*no dry run/) },
    ]);
  });

  it.each([
    { kind: 'error', code: 'InvalidAuthenticationToken', status: 401 },
    { kind: 'error', code: 'SubscriptionNotFound', status: 404 },
  ] as const)('is denied if no credentials are available ($code)', async (mishap) => {
    const { kit } = await opened(mishap);
    await expect(kit.probes[0]?.ask(patient())).rejects.toBeInstanceOf(PermissionDenied);
  });

  it('requires a subscription', async () => {
    await expect(openAzure({ subscription: null, endpoint: null })).rejects.toBeInstanceOf(InvalidConfiguration);
  });
});
