import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { generate } from 'selfsigned';
import { afterEach, describe, expect, it } from 'vitest';
import { azureCloud } from '../../../providers/azure/index.ts';
import { azureClients } from '../../../providers/azure/client.ts';
import { addFault } from '../../../sandbox/azure/faults.ts';
import { openArmServer } from '../../../sandbox/azure/arm-server.ts';
import type { CloudServer } from '../../../sandbox/cloud-server.ts';
import { addDisk, addMachine } from '../../../sandbox/azure/scenario.ts';
import { azureWorld, cloudOf, credential, polling, patient, prefix, subscription } from './azure-world.ts';

let open: CloudServer | undefined;
const trusted = getCACertificates('default');
afterEach(async () => {
  setDefaultCACertificates(trusted);
  await open?.close();
  open = undefined;
});

const cloudAt = (endpoint: string) => azureCloud(azureClients({ subscription, credential, endpoint, polling }));

const certificate = async () => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'sandbox-arm' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  });
  return { key, cert };
};

const peopled = () => {
  const world = azureWorld();
  const machine = addMachine(world);
  addDisk(world, {}, { machine });
  return { world, machine };
};

const withoutRequest = <T extends { evidence: object }>(facts: readonly T[]) =>
  facts.map((one) => ({ ...one, evidence: { ...one.evidence, requestId: '' } }));

describe('the servers of the sandbox’s Azure', () => {
  it('answer the same on a socket as in the process, and count their requests', async () => {
    const { world, machine } = peopled();
    open = await openArmServer(world);
    const [wire, inside] = [
      await cloudAt(open.url).look([machine], { disks: true }, patient()),
      await cloudOf(world).look([machine], { disks: true }, patient()),
    ];
    expect(withoutRequest(wire)).toEqual(withoutRequest(inside));
    expect(open.traffic().calls).toEqual({ 'machine.get': 1, 'disk.get': 2 });
  });

  it('use TLS with clients that trust them, and only with those', async () => {
    const { world, machine } = peopled();
    const tls = await certificate();
    open = await openArmServer(world, { tls });
    await expect(fetch(open.url)).rejects.toThrow('fetch failed');
    setDefaultCACertificates([...trusted, tls.cert]);
    expect(await cloudAt(open.url).look([machine], { disks: false }, patient())).toMatchObject([{ power: 'running' }]);
  });

  it('break the connection as configured, and only as often as configured', async () => {
    const { world, machine } = peopled();
    addFault(world.parts.azure, { call: 'machine.get', path: machine, mishap: { kind: 'drop' } });
    open = await openArmServer(world);
    const url = `${open.url}${machine}?api-version=2026-04-01`;
    await expect(fetch(url)).rejects.toThrow('fetch failed');
    expect((await fetch(url)).status).toBe(200);
  });

  it.each([
    ['GET', `${prefix}/virtualMachines/nobody?api-version=2026-04-01`, 404, 'ResourceNotFound'],
    ['GET', `${prefix}/disks/nobody?api-version=2026-03-02`, 404, 'ResourceNotFound'],
    ['GET', `${prefix}/virtualMachines/nobody`, 400, 'MissingApiVersionParameter'],
    [
      'GET',
      `${prefix.replace('mc_blue', 'mc_green')}/disks/nobody?api-version=2026-03-02`,
      404,
      'ResourceGroupNotFound',
    ],
    [
      'GET',
      '/subscriptions/another/resourceGroups/mc_blue/providers/Microsoft.Compute/disks/nobody?api-version=2026-03-02',
      404,
      'SubscriptionNotFound',
    ],
    ['POST', `${prefix}/virtualMachines/nobody/explode?api-version=2026-04-01`, 404, 'ResourceNotFound'],
    ['DELETE', `${prefix}/virtualMachines/nobody?api-version=2026-04-01`, 404, 'ResourceNotFound'],
    ['PUT', `${prefix}/virtualMachines/nobody?api-version=2026-04-01`, 404, 'ResourceNotFound'],
    ['GET', `${prefix}/virtualMachines/nobody?api-version=2031-01-01`, 400, 'NoRegisteredProviderFound'],
    ['GET', `${prefix}/virtualMachines/nobody?api-version=2026-03-02`, 400, 'NoRegisteredProviderFound'],
    ['GET', `${prefix}/disks/nobody?api-version=2026-04-01`, 400, 'NoRegisteredProviderFound'],
    ['GET', `${prefix}/disks/nobody?api-version=latest`, 400, 'InvalidApiVersionParameter'],
    ['GET', `${prefix}/virtualMachines/nobody?api-version=2026-04-01&$expand=everything`, 400, 'InvalidParameter'],
    [
      'POST',
      `${prefix}/virtualMachines/nobody/powerOff?api-version=2026-04-01&skipShutdown=please`,
      400,
      'InvalidParameter',
    ],
  ])('report what was not found or is not known: %s %s', async (method, path, status, code) => {
    open = await openArmServer(azureWorld());
    const answer = await fetch(open.url + path, { method });
    expect([answer.status, await answer.json()]).toMatchObject([status, { error: { code } }]);
  });
});
