import { fromTemporaryCredentials } from '@aws-sdk/credential-providers';
import { Denied, Unavailable, type CloudfenceError } from '../../fencing/errors.ts';
import { timeouts, type ClientOptions } from './client.ts';
import { inOurWords } from './errors.ts';

export interface Role {
  readonly arn: string;
  readonly externalId: string | null;
}

/** Where to ask for a role, and as whom. */
export type StsOptions = Pick<ClientOptions, 'endpoint' | 'credentials' | 'region'>;

/** Shown in the CloudTrail of the role's account. */
const SESSION = 'cloudfence';

/** Whatever declines the role denies all that needs it; only a service that did not answer may answer soon. */
const notAssumed = (caught: unknown, { arn }: Role): CloudfenceError => {
  const error = inOurWords(caught, 'sts:AssumeRole');
  const words = `the role ${arn} cannot be assumed: ${error.message}`;
  return error instanceof Unavailable ? new Unavailable(words, { cause: caught }) : new Denied(words, { cause: caught });
};

/**
 * Credentials of a role. The client that is given them keeps them until five minutes before they end; a role that assumes
 * another has an hour at most, which is also what STS gives unasked.
 * https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
 *
 * @throws Denied, Unavailable
 */
export const assumedRole = (role: Role, { credentials, ...sts }: StsOptions) => {
  const assume = fromTemporaryCredentials({
    params: { RoleArn: role.arn, RoleSessionName: SESSION, ...(role.externalId !== null && { ExternalId: role.externalId }) },
    clientConfig: { ...sts, requestHandler: timeouts, maxAttempts: 3 },
    ...(credentials && { masterCredentials: credentials }),
  });
  return async (): ReturnType<typeof assume> => {
    try {
      return await assume();
    } catch (caught) {
      throw notAssumed(caught, role);
    }
  };
};
