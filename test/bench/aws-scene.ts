import { readFile } from 'node:fs/promises';
import { SANDBOX_ACCOUNT } from '../../sandbox/aws-sandbox.ts';
import { openLiveSandbox } from '../cli/live-sandbox.ts';
import { openStandIn } from '../providers/stand-in.ts';
import { stopMachine } from '../simulation/incidents.ts';
import { someNodeIsFenced, type FunctionScene } from './function-scene.ts';
import { openTlsFront, trusting } from './tls-front.ts';

/** A machine that has been off for two minutes, and the environment of the Lambda function that has to fence it. */

const SECRET = 'bench-kubeconfig';

/**
 * The part of Secrets Manager that one secret needs:
 * https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
 */
const openSecret = (text: string) =>
  openStandIn(() => ({
    body: { Name: SECRET, SecretString: text },
    headers: { 'content-type': 'application/x-amz-json-1.1' },
  }));

export const openAwsScene = async (): Promise<FunctionScene> => {
  const sandbox = await openLiveSandbox((world, { holder }) => stopMachine(world, holder));
  const secret = await openSecret(await readFile(sandbox.kubeconfig, 'utf8'));
  const fronts = {
    ec2: await openTlsFront(sandbox.environment['AWS_ENDPOINT_URL_EC2'] ?? ''),
    secrets: await openTlsFront(secret.url),
  };
  return {
    machine: sandbox.scene.holder,
    isFenced: () => someNodeIsFenced(sandbox.world.parts.cluster.objects),
    environment: {
      ...sandbox.environment,
      AWS_ENDPOINT_URL_EC2: fronts.ec2.url,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: fronts.secrets.url,
      ...(await trusting(sandbox.folder, [fronts.ec2, fronts.secrets])),
      CLOUDFENCE_SETTINGS: JSON.stringify({ clusters: [{ name: 'sandbox', secret: SECRET }] }),
      CLOUDFENCE_ACCOUNT: SANDBOX_ACCOUNT,
    },
    close: async () => {
      fronts.ec2.close();
      fronts.secrets.close();
      await Promise.all([secret.close(), sandbox.close()]);
    },
  };
};
