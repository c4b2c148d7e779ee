import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { SSMClient } from '@aws-sdk/client-ssm';
import { InvalidConfiguration } from '../../fencing/errors.ts';
import { translated } from './errors.ts';

/** The text of a Secrets Manager secret. @throws Denied, Unavailable, Refused, InvalidConfiguration (it holds no text) */
export const secretText = async (client: SecretsManagerClient, name: string, signal: AbortSignal): Promise<string> => {
  const { GetSecretValueCommand } = await import('@aws-sdk/client-secrets-manager');
  const answer = await translated('secretsmanager:GetSecretValue', () => client.send(new GetSecretValueCommand({ SecretId: name }), { abortSignal: signal }));
  return textOf(answer.SecretString, `the secret ${name}`);
};

/** The text of an SSM parameter, decrypted. @throws as above */
export const parameterText = async (client: SSMClient, name: string, signal: AbortSignal): Promise<string> => {
  const { GetParameterCommand } = await import('@aws-sdk/client-ssm');
  const answer = await translated('ssm:GetParameter', () => client.send(new GetParameterCommand({ Name: name, WithDecryption: true }), { abortSignal: signal }));
  return textOf(answer.Parameter?.Value, `the parameter ${name}`);
};

const textOf = (text: string | undefined, what: string): string => {
  if (text === undefined || text === '') throw new InvalidConfiguration([`${what} holds no text: put the kubeconfig into it`]);
  return text;
};
