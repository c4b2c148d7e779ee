import { describe, expect, it } from 'vitest';
import { defaultPolicy } from '../../fencing/policy.ts';
import { onEvent, type Answered } from '../../functions/aws/on-event.ts';
import { openHttpDoor } from '../../sandbox/ec2/http-door.ts';
import { awsCloud, ec2Clients } from '../../providers/aws/index.ts';
import { addInstance, shutdownTakes } from '../../sandbox/ec2/scenario.ts';
import { stopMachine, stopped } from '../simulation/incidents.ts';
import { portsOver } from '../simulation/rig.ts';
import { stateOf } from '../simulation/state.ts';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';

const handlerOver = (world: AwsWorld, lines: object[] = []) => {
  const { signal: _signal, observe: _observe, ...ports } = portsOver(world);
  const wiring = { ports, policy: defaultPolicy, newRunId: () => 'run', log: (line: object) => void lines.push(line) };
  const endsAt = world.now() + 30_000;
  const context = { getRemainingTimeInMillis: () => endsAt - world.now() };
  return (event: unknown): Promise<Answered> => onEvent(async () => wiring)(event, context);
};

const stateChange = (instance: string, state = 'stopped') => ({
  version: '0', id: `e-${instance}`, 'detail-type': 'EC2 Instance State-change Notification', source: 'aws.ec2', account: '111122223333',
  time: '2026-01-01T00:00:00Z', region: 'eu-west-1', resources: [], detail: { 'instance-id': instance, state },
});

const batchOf = (...bodies: readonly unknown[]) => ({ Records: bodies.map((body, at) => ({ messageId: `m-${at}`, body: typeof body === 'string' ? body : JSON.stringify(body) })) });
const again = (...ids: string[]) => ({ batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })) });

describe('a batch of events', () => {
  it('fences the machine, and gives the queue nothing back', async () => {
    const { world, scene } = stopped();
    expect(await handlerOver(world)(batchOf(stateChange(scene.holder)))).toEqual(again());
    world.advance(60_000);
    expect(stateOf(world)).toMatchObject({ disks: expect.arrayContaining([`${scene.volume} at ${scene.spare} attached`]), harm: [] });
  });

  it('fences once, however often the machine is named', async () => {
    const { world, scene } = stopped();
    const lines: object[] = [];
    await handlerOver(world, lines)(batchOf(stateChange(scene.holder), stateChange(scene.holder), stateChange(scene.holder, 'running')));
    expect(lines.filter((line) => 'decision' in line && line.decision === 'fenced')).toHaveLength(1);
    expect(lines.filter((line) => 'step' in line && line.step === 'mark')).toHaveLength(1);
  });

  it('gives back what nobody can read, with the reason in the log, and goes on with its neighbours', async () => {
    const { world, scene } = stopped();
    const lines: object[] = [];
    const answer = await handlerOver(world, lines)(batchOf('{"detail-type": "EC2 Instance State-change', { hello: 'world' }, stateChange(scene.holder)));
    expect(answer).toEqual(again('m-0', 'm-1'));
    expect(lines).toEqual(expect.arrayContaining([expect.objectContaining({ decision: 'not-understood', what: expect.stringMatching(/not JSON/) })]));
    expect(stateOf(world).nodes).toContain(`${scene.nodeOf(scene.holder)} [node.kubernetes.io/out-of-service, cloudfence.dev/quarantine] fenced labelled`);
  });

  it('gives back a machine that is still stopping', async () => {
    const { world, scene } = stopped();
    shutdownTakes(world, scene.spare, 600_000);
    stopMachine(world, scene.spare);
    expect(await handlerOver(world)(batchOf(stateChange(scene.spare, 'stopping')))).toEqual(again('m-0'));
    expect(stateOf(world).nodes).toContain(`${scene.nodeOf(scene.spare)} []`);
  });

  it('asks EC2 once for all machines of a batch', async () => {
    const { world } = stopped();
    const machines = Array.from({ length: 10 }, () => addInstance(world));
    const door = await openHttpDoor(world);
    const clients = ec2Clients({ region: 'eu-west-1', endpoint: door.url, credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
    const { signal: _signal, observe: _observe, ...ports } = { ...portsOver(world), cloud: awsCloud({ clients, region: 'eu-west-1' }) };
    const wiring = { ports, policy: defaultPolicy, newRunId: () => 'run', log: () => undefined };
    const answer = await onEvent(async () => wiring)(batchOf(...machines.map((id) => stateChange(id, 'running'))), { getRemainingTimeInMillis: () => 30_000 });
    expect({ answer, calls: door.traffic().calls }).toEqual({ answer: again(), calls: { DescribeInstances: 1, DescribeVolumes: 1 } });
    await door.close();
  });
});

describe('an event without a queue', () => {
  it('is answered with the same JSON as the CLI gives', async () => {
    const { world, scene } = stopped();
    expect(await handlerOver(world)({ instanceId: scene.holder })).toMatchObject({ results: [{ outcome: 'fenced', instance: scene.holder, mode: 'taint' }] });
  });

  it('that nobody can read is an error that says what, where and how to mend it', async () => {
    const { world } = stopped();
    await expect(handlerOver(world)({ instanceId: 'my-node' })).rejects.toThrow(/instanceId.*name one instance/);
  });
});
