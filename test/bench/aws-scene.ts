import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { SANDBOX_ACCOUNT } from '../../sandbox/aws-sandbox.ts';
import { openLiveSandbox } from '../cli/live-sandbox.ts';
import { stopMachine } from '../simulation/incidents.ts';
import { someNodeIsFenced, type FunctionScene } from './function-scene.ts';
import { openTlsFront } from './tls-front.ts';

/** A machine that has been off for two minutes, and the environment of a Lambda function that is to fence it. */

const SECRET = 'bench-kubeconfig';

/** Secrets Manager as far as one secret goes: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html */
const openSecret = async (text: string) => {
  const answer = JSON.stringify({ Name: SECRET, SecretString: text });
  const server = createServer((_, response) => response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1' }).end(answer));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, close };
};

export const openAwsScene = async (): Promise<FunctionScene> => {
  const sandbox = await openLiveSandbox((world, { holder }) => stopMachine(world, holder));
  const secret = await openSecret(await readFile(sandbox.kubeconfig, 'utf8'));
  const fronts = { ec2: await openTlsFront(sandbox.environment['AWS_ENDPOINT_URL_EC2'] ?? ''), secrets: await openTlsFront(secret.url) };
  const trusted = path.join(sandbox.folder, 'trusted.pem');
  await writeFile(trusted, `${fronts.ec2.ca}\n${fronts.secrets.ca}`);
  return {
    machine: sandbox.scene.holder,
    isFenced: () => someNodeIsFenced(sandbox.world.parts.cluster.objects),
    environment: {
      ...sandbox.environment,
      AWS_ENDPOINT_URL_EC2: fronts.ec2.url,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: fronts.secrets.url,
      NODE_EXTRA_CA_CERTS: trusted,
      CLOUDFENCE_SETTINGS: JSON.stringify({ clusters: [{ name: 'sandbox', secret: SECRET }] }),
      CLOUDFENCE_ACCOUNT: SANDBOX_ACCOUNT,
    },
    close: async () => {
      fronts.ec2.close();
      fronts.secrets.close();
      secret.close();
      await sandbox.close();
    },
  };
};
