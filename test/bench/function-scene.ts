import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { SANDBOX_ACCOUNT } from '../../sandbox/aws-sandbox.ts';
import { openLiveSandbox } from '../cli/live-sandbox.ts';
import { stopMachine } from '../simulation/incidents.ts';

/** A machine that has been off for two minutes, and the environment of a function that is to fence it. */
export interface FunctionScene {
  readonly machine: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly close: () => Promise<void>;
}

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

export const openFunctionScene = async (): Promise<FunctionScene> => {
  const sandbox = await openLiveSandbox((world, { holder }) => stopMachine(world, holder));
  const secret = await openSecret(await readFile(sandbox.kubeconfig, 'utf8'));
  const settings = { clusters: [{ name: 'sandbox', secret: SECRET }] };
  return {
    machine: sandbox.scene.holder,
    environment: { ...sandbox.environment, AWS_ENDPOINT_URL_SECRETS_MANAGER: secret.url, CLOUDFENCE_SETTINGS: JSON.stringify(settings), CLOUDFENCE_ACCOUNT: SANDBOX_ACCOUNT },
    close: async () => {
      secret.close();
      await sandbox.close();
    },
  };
};
