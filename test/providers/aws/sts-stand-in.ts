import type { RoleToAssume } from '../../../providers/aws/plugin/open-territories.ts';
import { openStandIn } from '../stand-in.ts';

/**
 * The part of STS that a role needs to be assumed:
 * https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
 */
export interface StsStandIn {
  readonly url: string;
  /** Whether a signed request has credentials of that role that are still valid in that region. */
  readonly vouchesFor: (authorization: string | undefined, role: string, region: string) => boolean;
  /** How often each role was assumed. */
  readonly assumed: (role: string) => number;
  /** From now on, all credentials that were issued until now are invalid. */
  readonly expireAll: () => void;
  /** From now on, answers only with this, or normally again (null). */
  readonly fail: (error: { readonly status: number; readonly code: string } | null) => void;
  readonly close: () => Promise<void>;
}

const CREDENTIAL = /Credential=([^/]+)\/\d+\/([^/]+)\/ec2\//;

const errorXml = (code: string): string =>
  `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>no</Message></Error><RequestId>r</RequestId></ErrorResponse>`;

const assumedXml = (
  key: string,
  expires: Date,
): string => `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
  <AccessKeyId>${key}</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>token</SessionToken><Expiration>${expires.toISOString()}</Expiration>
  </Credentials></AssumeRoleResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></AssumeRoleResponse>`;

/** Knows these roles, each by its ARN and its external ID. Credentials are valid for this long (ms). */
export const openSts = async (roles: readonly RoleToAssume[], lasts: number): Promise<StsStandIn> => {
  const issued: { readonly key: string; readonly role: string; good: boolean }[] = [];
  let failing: { readonly status: number; readonly code: string } | null = null;
  const answer = (params: URLSearchParams): readonly [number, string] => {
    if (failing) return [failing.status, errorXml(failing.code)];
    const role = roles.find(
      ({ arn, externalId }) => arn === params.get('RoleArn') && externalId === params.get('ExternalId'),
    );
    if (params.get('Action') !== 'AssumeRole' || !role) return [403, errorXml('AccessDenied')];
    const key = `ASIA${issued.length}`;
    issued.push({ key, role: role.arn, good: true });
    return [200, assumedXml(key, new Date(Date.now() + lasts))];
  };
  const { url, close } = await openStandIn((request) => {
    const [status, body] = answer(new URLSearchParams(String(request.body)));
    return { status, body, headers: { 'content-type': 'text/xml' } };
  });
  return {
    url,
    vouchesFor: (authorization = '', role, region) => {
      const [, key, scope] = CREDENTIAL.exec(authorization) ?? [];
      return scope === region && issued.some((one) => one.key === key && one.role === role && one.good);
    },
    assumed: (role) => issued.filter((one) => one.role === role).length,
    expireAll: () => {
      for (const one of issued) one.good = false;
    },
    fail: (error) => {
      failing = error;
    },
    close,
  };
};
