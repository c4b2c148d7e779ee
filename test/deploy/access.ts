import { SANDBOX_ACCOUNT, SANDBOX_REGION } from '../../sandbox/aws-sandbox.ts';

/** The identity with which tests call an emulator: the sandbox's account, which may do everything. */
export const accessTo = (endpoint: string) => ({
  endpoint,
  region: SANDBOX_REGION,
  credentials: { accessKeyId: SANDBOX_ACCOUNT, secretAccessKey: 'test' },
});

export const STAGE = 'ministack';

/** What `serverless deploy` calls a function. */
export const functionName = (name: string): string => `cloudfence-${STAGE}-${name}`;
