import { DescribeInstancesCommand, DetachVolumeCommand, EC2Client, StopInstancesCommand } from '@aws-sdk/client-ec2';
import { afterEach, describe, expect, it } from 'vitest';
import type { CloudServer } from '../../../sandbox/cloud-server.ts';
import { openEc2Server } from '../../../sandbox/ec2/ec2-server.ts';
import type { Authority } from '../../../sandbox/ec2/iam/authority.ts';
import { policyDocument } from '../../../sandbox/ec2/iam/policy-document.ts';
import { addInstance, addVolume } from '../../../sandbox/ec2/scenario.ts';
import type { Ec2World } from '../../../sandbox/ec2/state.ts';
import { instanceIn, volumeIn } from '../../../sandbox/ec2/state.ts';
import { ec2World, region } from './ec2-world.ts';

const arn = (kind: string) => `arn:aws:ec2:${region}:123456789012:${kind}/*`;
const allow = (Action: string, Resource: string, change: object = {}) => ({
  Effect: 'Allow',
  Action,
  Resource,
  ...change,
});
const look = allow('ec2:Describe*', '*');
const [onVolumes, onInstances] = [allow('ec2:DetachVolume', arn('volume')), allow('ec2:DetachVolume', arn('instance'))];
const onlyOurs = allow('ec2:DetachVolume', arn('volume'), {
  Condition: { StringEquals: { 'aws:ResourceTag/owner': 'us' } },
});

let ec2Server: CloudServer | undefined;
afterEach(() => ec2Server?.close());

/** One caller with the key KEY, whose statements can be changed at any time. */
const behind = async (world: Ec2World, statements: readonly object[]) => {
  const authority: Authority = async (key) => {
    if (key === 'BROKEN') throw new Error('out of order');
    return key === 'KEY'
      ? {
          arn: 'arn:aws:sts::123456789012:assumed-role/tester',
          policies: [policyDocument.parse({ Version: '2012-10-17', Statement: statements })],
          context: {},
        }
      : null;
  };
  const { url } = (ec2Server = await openEc2Server(world, 0, undefined, authority));
  return (accessKeyId = 'KEY') =>
    new EC2Client({ region, endpoint: url, maxAttempts: 1, credentials: { accessKeyId, secretAccessKey: 'x' } });
};

const scene = (tags: Readonly<Record<string, string>> = {}) => {
  const world = ec2World();
  const InstanceId = addInstance(world, { state: 'stopped' });
  const VolumeId = addVolume(world, { tags }, { instance: InstanceId });
  return { world, InstanceId, VolumeId, stateOf: () => volumeIn(world, VolumeId)?.attachments[0]?.state };
};

const unauthorized = (action: string, resource: string) => ({
  name: 'UnauthorizedOperation',
  message: expect.stringMatching(
    new RegExp(`assumed-role/tester is not authorized to perform: ec2:${action} on resource: .*${resource}`),
  ),
  $metadata: expect.objectContaining({ httpStatusCode: 403 }),
});

describe('the server with an authority', () => {
  it('allows what the policies allow, and nothing else', async () => {
    const { world, InstanceId } = scene();
    const as = await behind(world, [look]);
    expect((await as().send(new DescribeInstancesCommand({}))).Reservations).toHaveLength(1);
    await expect(as().send(new StopInstancesCommand({ InstanceIds: [InstanceId] }))).rejects.toMatchObject(
      unauthorized('StopInstances', InstanceId),
    );
  });

  it.each([
    ['only the volume', [onVolumes], 'instance/'],
    ['only the instance', [onInstances], 'volume/'],
  ])('rejects a detach by a user who may detach only from %s', async (_, statements, missing) => {
    const { world, InstanceId, VolumeId, stateOf } = scene();
    const as = await behind(world, statements);
    await expect(as().send(new DetachVolumeCommand({ InstanceId, VolumeId }))).rejects.toMatchObject(
      unauthorized('DetachVolume', missing),
    );
    expect(stateOf()).toBe('attached');
  });

  it.each([
    ['with the tag', { owner: 'us' }, 'detaching'],
    ['with another value', { owner: 'them' }, 'attached'],
    ['without it', {}, 'attached'],
  ])('requires the tag of the volume for a detach: %s', async (_, tags, state) => {
    const { world, InstanceId, VolumeId, stateOf } = scene(tags);
    const as = await behind(world, [onlyOurs, onInstances]);
    await as()
      .send(new DetachVolumeCommand({ InstanceId, VolumeId }))
      .catch((error: unknown) => expect(error).toMatchObject(unauthorized('DetachVolume', VolumeId)));
    expect(stateOf()).toBe(state);
  });

  it('says in a dry run whether the call is allowed, even for a missing resource, and does nothing', async () => {
    const { world, InstanceId, VolumeId, stateOf } = scene();
    const as = await behind(world, [onVolumes, onInstances]);
    const dry = { DryRun: true, InstanceId, VolumeId };
    await expect(as().send(new DetachVolumeCommand(dry))).rejects.toMatchObject({ name: 'DryRunOperation' });
    await expect(
      as().send(new StopInstancesCommand({ DryRun: true, InstanceIds: ['i-00000000000000000'] })),
    ).rejects.toMatchObject(unauthorized('StopInstances', 'i-0000'));
    expect([stateOf(), instanceIn(world, InstanceId)?.state]).toEqual(['attached', 'stopped']);
  });

  it('applies a changed policy to the next call', async () => {
    const { world } = scene();
    const statements: object[] = [];
    const as = await behind(world, statements);
    await expect(as().send(new DescribeInstancesCommand({}))).rejects.toMatchObject({ name: 'UnauthorizedOperation' });
    statements.push(look);
    expect((await as().send(new DescribeInstancesCommand({}))).Reservations).toHaveLength(1);
  });

  it.each([
    ['an unknown key', 'OTHER', 'AuthFailure', 401],
    ['an authority that is out of service', 'BROKEN', 'InternalError', 500],
  ])('rejects %s', async (_, key, name, httpStatusCode) => {
    const as = await behind(scene().world, [look]);
    await expect(as(key).send(new DescribeInstancesCommand({}))).rejects.toMatchObject({
      name,
      $metadata: { httpStatusCode },
    });
  });

  it('rejects an unsigned call', async () => {
    await behind(scene().world, [look]);
    const answer = await fetch(ec2Server?.url ?? '', { method: 'POST', body: 'Action=DescribeInstances' });
    expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('<Code>AuthFailure</Code>')]);
  });
});
