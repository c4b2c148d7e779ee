import { describe, expect, it } from 'vitest';
import { withOwnPaths } from '../../cli/answer.ts';
import { registeredClouds } from '../../app/clouds.ts';
import type { SeenCluster } from '../../providers/stage.ts';

const next = 'kubectl apply -f infra/kubernetes/rbac.yaml   # in cluster prod';

describe('a path of this package in a text', () => {
  it('is completed with the folder of the package', () =>
    expect(withOwnPaths(next, '/opt/cloudfence')).toBe(
      'kubectl apply -f /opt/cloudfence/infra/kubernetes/rbac.yaml   # in cluster prod',
    ));

  it('is quoted for a shell, and escaped in a JSON text', () => {
    const text = withOwnPaths(JSON.stringify({ next, see: 'docs/install.md' }), '/opt/my tools');
    expect(JSON.parse(text)).toEqual({
      next: "kubectl apply -f '/opt/my tools/infra/kubernetes/rbac.yaml'   # in cluster prod",
      see: "'/opt/my tools/docs/install.md'",
    });
  });

  it('stays as it is in a checkout, and if it is not a path of this package', () => {
    expect(withOwnPaths(next, null)).toBe(next);
    expect(withOwnPaths(next, '/opt/"quoted"')).toBe(next);
    expect(withOwnPaths('my/infra/kubernetes/rbac.yaml', '/opt')).toBe('my/infra/kubernetes/rbac.yaml');
  });
});

it('a command in a text begins with npx only in a checkout: elsewhere, npx would load another package', () => {
  const doctor = 'npx cloudfence doctor --context prod';
  expect(withOwnPaths(doctor, '/opt/cloudfence')).toBe('cloudfence doctor --context prod');
  expect(withOwnPaths(doctor, '/opt/"quoted"')).toBe('cloudfence doctor --context prod');
  expect(withOwnPaths(doctor, null)).toBe(doctor);
});

const cluster: SeenCluster = {
  name: 'prod',
  context: 'prod',
  kubeconfigCluster: 'prod',
  kubeconfigUser: 'prod',
  host: 'prod.example.com',
  programArgs: [],
  version: 'v1.36.0',
  nodes: [],
};

it('the steps on Azure let you write into the vault before they store the kubeconfig there', async () => {
  const azure = (await registeredClouds()).find(({ name }) => name === 'azure');
  const steps = (await azure?.stageWriter())?.steps('prod', [cluster], 'checkout') ?? [];
  const orderOf = (command: string): number => steps.findIndex((step) => step.startsWith(command));
  expect(orderOf('az keyvault create')).toBeGreaterThan(-1);
  expect(orderOf("az role assignment create --role 'Key Vault Secrets Officer'")).toBeGreaterThan(
    orderOf('az keyvault create'),
  );
  expect(orderOf('az keyvault secret set')).toBeGreaterThan(orderOf('az role assignment create'));
});

it.each(await registeredClouds())('the steps for a release on $name need no checkout', async ({ stageWriter }) => {
  const { steps } = await stageWriter();
  expect(steps('prod', [cluster], 'checkout').join('\n')).toContain('npx serverless deploy');
  const released = steps('prod', [cluster], 'release').join('\n');
  expect(released).toContain('settings.json, and install the functions: docs/install.md');
  expect(released).not.toContain('serverless');
});
