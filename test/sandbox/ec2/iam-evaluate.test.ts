import { describe, expect, it } from 'vitest';
import { mayDo, type AccessRequest } from '../../../sandbox/ec2/iam/evaluate.ts';
import { policyDocument } from '../../../sandbox/ec2/iam/policy-document.ts';

const policy = (...Statement: readonly object[]) => policyDocument.parse({ Version: '2012-10-17', Statement });
const allow = (Action: string, change: object = {}) => ({ Effect: 'Allow', Action, Resource: '*', ...change });
const deny = (Action: string, change: object = {}) => ({ ...allow(Action, change), Effect: 'Deny' });
const detach = (change: Partial<AccessRequest> = {}): AccessRequest => ({
  action: 'ec2:DetachVolume',
  resource: 'arn:aws:ec2:eu-west-1:111122223333:volume/vol-1',
  context: {},
  ...change,
});
const tagged = {
  Condition: { StringEquals: { 'aws:ResourceTag/owner': ['us', 'them'], 'aws:ResourceTag/stage': 'prod' } },
};

describe('a policy', () => {
  it.each<readonly [string, readonly object[], Partial<AccessRequest>, boolean]>([
    ['allows what it names', [allow('ec2:DetachVolume')], {}, true],
    ['allows nothing that it does not name', [allow('ec2:AttachVolume')], {}, false],
    ['ignores the case of an action', [allow('EC2:detachvolume')], {}, true],
    ['accepts wildcards in actions', [allow('ec2:Det*'), allow('ec2:D?tachVolume')], {}, true],
    ['treats a dot as a dot', [allow('ec2.DetachVolume')], {}, false],
    ['accepts wildcards in resources', [allow('ec2:*', { Resource: 'arn:aws:ec2:*:111122223333:volume/*' })], {}, true],
    [
      'respects the case of a resource',
      [allow('ec2:*', { Resource: 'arn:aws:ec2:*:111122223333:Volume/*' })],
      {},
      false,
    ],
    [
      'of one kind of resource allows no other',
      [allow('ec2:*', { Resource: 'arn:aws:ec2:*:*:instance/*' })],
      {},
      false,
    ],
    [
      'with a named resource does not allow actions without resources',
      [allow('ec2:*', { Resource: 'arn:aws:ec2:*:*:volume/*' })],
      { resource: '*' },
      false,
    ],
    ['denies with priority over allowing', [allow('ec2:*'), deny('ec2:DetachVolume')], {}, false],
    ['whose Deny does not apply denies nothing', [allow('ec2:*'), deny('ec2:*', tagged)], {}, true],
    [
      'requires every condition',
      [allow('ec2:*', tagged)],
      { context: { 'aws:ResourceTag/owner': 'them', 'aws:resourcetag/stage': 'prod' } },
      true,
    ],
    [
      'whose conditions are only partly met allows nothing',
      [allow('ec2:*', tagged)],
      { context: { 'aws:ResourceTag/owner': 'us' } },
      false,
    ],
    [
      'distinguishes values',
      [allow('ec2:*', tagged)],
      { context: { 'aws:ResourceTag/owner': 'you', 'aws:ResourceTag/stage': 'prod' } },
      false,
    ],
    [
      'accepts wildcards in ARNs of conditions',
      [allow('ec2:*', { Condition: { ArnLike: { 'lambda:SourceFunctionArn': 'arn:*:function:cloudfence-*' } } })],
      { context: { 'lambda:SourceFunctionArn': 'arn:aws:lambda:eu-west-1:1:function:cloudfence-a' } },
      true,
    ],
    [
      'accepts no wildcards in an equality condition',
      [allow('ec2:*', { Condition: { StringEquals: { 'aws:ResourceTag/owner': '*' } } })],
      { context: { 'aws:ResourceTag/owner': 'us' } },
      false,
    ],
  ])('%s', (_, statements, change, allowed) => {
    expect(mayDo([policy(...statements)], detach(change))).toBe(allowed);
  });

  it('next to another policy adds to it, and its Deny counts for both', () => {
    expect(mayDo([policy(), policy(allow('ec2:*'))], detach())).toBe(true);
    expect(mayDo([policy(deny('ec2:*')), policy(allow('ec2:*'))], detach())).toBe(false);
    expect(mayDo([], detach())).toBe(false);
  });

  it.each([
    ['an unsupported condition', allow('ec2:*', { Condition: { Bool: { 'aws:SecureTransport': 'true' } } })],
    ['an unsupported element', { Effect: 'Allow', NotAction: 'ec2:*', Resource: '*' }],
  ])('with %s is rejected', (_, statement) => {
    expect(() => policy(statement)).toThrow(/Unrecognized|Invalid/);
  });
});
