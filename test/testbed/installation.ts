import { writeFile, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { CreateSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { ControlPlaneAccess, Ec2Access } from './control-plane.ts';

/** The part of AWS that a run uses: EC2 behind the strict proxy, and the rest (queues, secrets) from moto. */
export interface AwsAccess {
  readonly ec2: Ec2Access;
  readonly endpoint: string;
  /** Folder of the packaged functions. */
  readonly functions: string;
}

/** A control plane with Cloudfence. */
export interface TestbedAccess extends ControlPlaneAccess {
  readonly aws: AwsAccess;
  readonly ec2: Ec2Access;
  /** Path of Cloudfence's configuration. */
  readonly settings: string;
  /** Name of the secret with Cloudfence's kubeconfig, for the functions. */
  readonly secret: string;
}

/** A policy as written in the configuration. What it does not name has its default. */
export interface PolicyOverrides {
  readonly fenceAfter?: string;
  readonly deleteNode?: 'when-terminated' | 'always' | 'never';
  readonly detach?: 'when-stuck' | 'always' | 'never';
  readonly unreachable?: 'report' | 'power-off';
  readonly cap?: { readonly share?: number; readonly atOnce?: number };
}

let count = 0;

const writeSettings = async (folder: string, policy: PolicyOverrides, settings: object = {}): Promise<string> => {
  const path = join(folder, `cloudfence-${process.pid}-${(count += 1)}.json`);
  await writeFile(path, JSON.stringify({ ...settings, policy }));
  return path;
};

/** The defaults, except for the cap: scenarios share one cluster and its ledger, and would block each other. */
const SIDE_BY_SIDE: PolicyOverrides = { cap: { share: 1, atOnce: 1 } };

export const storeSecret = async ({ endpoint, ec2 }: AwsAccess, name: string, text: string): Promise<void> => {
  const client = new SecretsManagerClient({
    endpoint,
    region: ec2.region,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  await client.send(new CreateSecretCommand({ Name: name, SecretString: text }));
  client.destroy();
};

/** Cloudfence as it would be installed for this control plane. */
export const installCloudfence = async (access: ControlPlaneAccess, aws: AwsAccess): Promise<TestbedAccess> => {
  const secret = basename(access.folder);
  await storeSecret(aws, secret, await readFile(access.kubeconfigs.cloudfence, 'utf8'));
  return { ...access, aws, ec2: aws.ec2, secret, settings: await writeSettings(access.folder, SIDE_BY_SIDE) };
};

/** The same with another policy, and for the CLI with additional settings. */
export const under = async (
  access: TestbedAccess,
  policy: PolicyOverrides,
  settings: object = {},
): Promise<TestbedAccess> => ({
  ...access,
  settings: await writeSettings(access.folder, { ...SIDE_BY_SIDE, ...policy }, settings),
});
