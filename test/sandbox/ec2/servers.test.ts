import { DescribeInstancesCommand, EC2Client } from '@aws-sdk/client-ec2';
import { describe, expect, it } from 'vitest';
import { addFault } from '../../../sandbox/ec2/faults.ts';
import { openEc2Server } from '../../../sandbox/ec2/ec2-server.ts';
import { addInstance, stopGuest } from '../../../sandbox/ec2/scenario.ts';
import type { Ec2World } from '../../../sandbox/ec2/state.ts';
import { clientOf, credentials, ec2World, region } from './ec2-world.ts';

const stateSeen = async (client: EC2Client, id: string) => {
  const answer = await client.send(new DescribeInstancesCommand({ InstanceIds: [id] }));
  return answer.Reservations?.[0]?.Instances?.[0]?.State?.Name;
};

const openServer = async (world: Ec2World) => {
  const ec2Server = await openEc2Server(world);
  return { ec2Server, client: new EC2Client({ region, credentials, endpoint: ec2Server.url, maxAttempts: 1 }) };
};

describe('the servers of the sandbox’s EC2', () => {
  it('answer the same on a socket as in the process', async () => {
    const world = ec2World();
    addInstance(world);
    const { ec2Server, client } = await openServer(world);
    const [wire, inside] = [
      await client.send(new DescribeInstancesCommand({})),
      await clientOf(world).send(new DescribeInstancesCommand({})),
    ];
    await ec2Server.close();
    expect(wire.Reservations).toEqual(inside.Reservations);
  });

  it('count calls and the bytes of their answers', async () => {
    const { ec2Server } = await openServer(ec2World());
    const body = 'Action=DescribeInstances&Version=2016-11-15';
    const answers = [
      await fetch(ec2Server.url, { method: 'POST', body }),
      await fetch(ec2Server.url, { method: 'POST', body }),
    ];
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    await ec2Server.close();
    expect(ec2Server.traffic()).toEqual({ calls: { DescribeInstances: 2 }, bytes: texts.join('').length });
  });

  it('break the connection as configured, and only as often as configured', async () => {
    const world = ec2World();
    const id = addInstance(world);
    addFault(world.parts.ec2, {
      action: 'DescribeInstances',
      params: { 'InstanceId.1': id },
      mishap: { kind: 'drop' },
    });
    const { ec2Server, client } = await openServer(world);
    await expect(stateSeen(client, id)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(await stateSeen(client, id)).toBe('running');
    await ec2Server.close();
  });

  it('reject an action that the sandbox does not know', async () => {
    const { ec2Server } = await openServer(ec2World());
    const answer = await fetch(ec2Server.url, { method: 'POST', body: 'Action=constructor' });
    await ec2Server.close();
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('<Code>InvalidAction</Code>')]);
  });

  it('return the past or the present if the age of reads is random, the same for the same seed', async () => {
    const history = async (): Promise<readonly unknown[]> => {
      const world = ec2World({ staleUpTo: 5_000, staleness: 'seeded' });
      const id = addInstance(world);
      stopGuest(world, id);
      world.advance(2_500);
      const seen: unknown[] = [];
      for (let n = 0; n < 20; n += 1) seen.push(await stateSeen(clientOf(world), id));
      return seen;
    };
    const first = await history();
    expect(new Set(first)).toEqual(new Set(['running', 'stopping']));
    expect(await history()).toEqual(first);
  });
});
