import { XMLParser } from 'fast-xml-parser';
import { z } from 'zod';
import { SANDBOX_ACCOUNT, SANDBOX_REGION } from '../../sandbox/aws-sandbox.ts';
import type { Authority } from '../../sandbox/ec2/iam/authority.ts';
import { policyDocument, type PolicyDocument } from '../../sandbox/ec2/iam/policy-document.ts';
import { functionName, STAGE } from './access.ts';
import type { Ministack } from './ministack.ts';

/** The role of each function in ministack's IAM. A change takes effect with the next call. */
export interface Roles {
  readonly policyOf: (name: string) => Promise<PolicyDocument>;
  readonly put: (name: string, policy: PolicyDocument) => Promise<void>;
}

const roleOf = (name: string): string => `cloudfence-${STAGE}-${SANDBOX_REGION}-${name}`;

/** Root needs no signature here. ministack reads the account and the service from the scope. */
const SIGNER = `${SANDBOX_ACCOUNT}/20260101/${SANDBOX_REGION}/iam/aws4_request`;
const SCOPE = `AWS4-HMAC-SHA256 Credential=${SIGNER}, SignedHeaders=host, Signature=0`;

const answered = z.object({
  GetRolePolicyResponse: z.object({ GetRolePolicyResult: z.object({ PolicyDocument: z.string() }) }),
});

/** https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetRolePolicy.html: the document comes URL-encoded. */
const documentIn = (xml: string): PolicyDocument => {
  const { GetRolePolicyResponse } = answered.parse(new XMLParser().parse(xml));
  return policyDocument.parse(JSON.parse(decodeURIComponent(GetRolePolicyResponse.GetRolePolicyResult.PolicyDocument)));
};

export const rolesAt = (endpoint: string): Roles => {
  const ask = async (action: string, name: string, more: Readonly<Record<string, string>> = {}): Promise<string> => {
    const body = new URLSearchParams({
      Action: action,
      Version: '2010-05-08',
      RoleName: roleOf(name),
      PolicyName: name,
      ...more,
    });
    const response = await fetch(endpoint, { method: 'POST', headers: { authorization: SCOPE }, body });
    const said = await response.text();
    if (!response.ok) throw new Error(`${action} for ${name}: ${said}`);
    return said;
  };
  return {
    policyOf: async (name) => documentIn(await ask('GetRolePolicy', name)),
    put: async (name, policy) => void (await ask('PutRolePolicy', name, { PolicyDocument: JSON.stringify(policy) })),
  };
};

/** The identity of a function's credentials, and what its role allows at this moment. */
export const authorityOf = ({ functionWith }: Ministack, roles: Roles): Authority => {
  const prefix = functionName('');
  const seen = new Map<string, string>();
  return async (accessKeyId) => {
    const name = functionWith(accessKeyId) ?? seen.get(accessKeyId);
    if (name === undefined || !name.startsWith(prefix)) return null;
    seen.set(accessKeyId, name);
    const short = name.slice(prefix.length);
    return {
      arn: `arn:aws:sts::${SANDBOX_ACCOUNT}:assumed-role/${roleOf(short)}/${name}`,
      policies: [await roles.policyOf(short)],
      context: { 'lambda:SourceFunctionArn': `arn:aws:lambda:${SANDBOX_REGION}:${SANDBOX_ACCOUNT}:function:${name}` },
    };
  };
};
