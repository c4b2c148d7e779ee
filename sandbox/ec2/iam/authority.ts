import { Ec2Refusal } from '../refusal.ts';
import { mayDo, type AccessRequest } from './evaluate.ts';
import type { PolicyDocument } from './policy-document.ts';

/** The signer of a call, and its permissions. */
export interface Caller {
  /** The name that EC2 uses in an error. */
  readonly arn: string;
  readonly policies: readonly PolicyDocument[];
  /** Condition keys that AWS sets for every call of this caller, such as `lambda:SourceFunctionArn`. */
  readonly context: AccessRequest['context'];
}

/** Evaluated at each call, so that a changed policy applies immediately. Returns null for an unknown key. */
export type Authority = (accessKeyId: string) => Promise<Caller | null>;

/** @throws Ec2Refusal if the caller does not have the permission */
export type Judge = (demands: readonly AccessRequest[]) => void;

export const allowAll: Judge = () => undefined;

/** https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-signing-elements.html */
const CREDENTIAL = /Credential=([^/,\s]+)\//;

/** Checks only the access key id, because the sandbox has no secret keys. */
export const permissionCheckOf = async (authority: Authority, authorization: string | undefined): Promise<Judge> => {
  const key = CREDENTIAL.exec(authorization ?? '')?.[1];
  try {
    const caller = key === undefined ? null : await authority(key);
    return caller
      ? judgeFor(caller)
      : () => refuse('AuthFailure', 'AWS was not able to validate the provided access credentials', 401);
  } catch (error) {
    return () => refuse('InternalError', `nobody can say what ${key} may do: ${String(error)}`, 500);
  }
};

const judgeFor =
  ({ arn, policies, context }: Caller): Judge =>
  (demands) => {
    const denied = demands.find(
      (demand) => !mayDo(policies, { ...demand, context: { ...context, ...demand.context } }),
    );
    if (!denied) return;
    refuse(
      'UnauthorizedOperation',
      `You are not authorized to perform this operation. User: ${arn} is not authorized to perform: ` +
        `${denied.action} on resource: ${denied.resource}`,
      403,
    );
  };

const refuse = (code: string, message: string, status: number): never => {
  throw new Ec2Refusal(code, message, status);
};
