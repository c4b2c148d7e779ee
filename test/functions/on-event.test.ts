import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { InvalidConfiguration, Unavailable } from '../../fencing/model/errors.ts';
import { parseRecord } from '../../fencing/model/record.ts';
import { MAX_ATTEMPTS, redeliveryDelay } from '../../functions/acknowledge.ts';
import { MOST_DELIVERIES, onEvent } from '../../functions/aws/on-event.ts';
import { RECORD_ANNOTATION } from '../../kubernetes/names.ts';
import { awsCloud } from '../../providers/aws/index.ts';
import { ec2Clients } from '../../providers/aws/client.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBarePod } from '../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { addFault } from '../../sandbox/ec2/faults.ts';
import { openEc2Server } from '../../sandbox/ec2/ec2-server.ts';
import { addInstance, shutdownTakes } from '../../sandbox/ec2/scenario.ts';
import { attacherDown, startMachine, stopMachine, stopped, terminated } from '../simulation/incidents.ts';
import { stateOf } from '../simulation/state.ts';
import { diedAfterMark } from '../simulation/walk.ts';
import { clusterOver, portsOver } from '../simulation/ports.ts';
import { never } from '../sandbox/in-process.ts';
import { again, batchOf, installOver, stateChange, type Install } from './install.ts';

const deliver = (install: Install, ...bodies: readonly unknown[]) =>
  onEvent(async () => install.dependencies)(batchOf(...bodies), install.context());
const fencedLine = (node: string) => `${node} [cloudfence.dev/quarantine] fenced labelled`;
const decisions = ({ lines }: Install) => lines.map((line) => line['decision']);

describe('a batch', () => {
  it('fences the machine, and returns nothing to the queue', async () => {
    const { world, scene } = stopped();
    const install = installOver(world);
    expect(await deliver(install, stateChange(scene.holder))).toEqual(again());
    world.advance(60_000);
    expect(stateOf(world)).toMatchObject({
      disks: expect.arrayContaining([`${scene.volume} at ${scene.spare} attached`]),
      violations: [],
    });
    expect(install).toMatchObject({ sentAgain: [], dead: [] });
  });

  it('looks once at a machine, however often it is named', async () => {
    const { world, scene } = stopped();
    const install = installOver(world);
    await deliver(install, stateChange(scene.holder), stateChange(scene.holder), stateChange(scene.holder, 'running'));
    expect(decisions(install).filter((decision) => decision === 'fenced')).toHaveLength(1);
  });

  it('sends what it cannot read to the dead-letter queue with the reason, and handles the others', async () => {
    const { world, scene } = stopped();
    const install = installOver(world);
    expect(
      await deliver(install, '{"detail-type": "EC2 Instance', { hello: 'world' }, stateChange(scene.holder)),
    ).toEqual(again());
    expect(install.dead).toMatchObject([
      { body: '{"detail-type": "EC2 Instance', reason: expect.stringMatching(/not JSON/) },
      { body: '{"hello":"world"}', reason: expect.stringMatching(/not an event that Cloudfence supports/) },
    ]);
    expect(stateOf(world).nodes).toContain(fencedLine(scene.nodeOf(scene.holder)));
  });

  it('makes one call to EC2 for all its machines', async () => {
    const { world } = stopped();
    const machines = Array.from({ length: 10 }, () => addInstance(world));
    const ec2Server = await openEc2Server(world);
    const clients = ec2Clients({
      region: 'eu-west-1',
      endpoint: ec2Server.url,
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    });
    const install = installOver(world, {}, { cloud: awsCloud({ clients, region: 'eu-west-1' }) });
    expect(await deliver(install, ...machines.map((id) => stateChange(id, 'running')))).toEqual(again());
    expect(ec2Server.traffic().calls).toEqual({ DescribeInstances: 1, DescribeVolumes: 1 });
    await ec2Server.close();
  });

  it('logs names that no object can have, shortened, and fences the machine', async () => {
    const { world, scene } = stopped();
    for (const claimName of ['..', `\u001B[2J${'x'.repeat(5_000)}`]) {
      const volumes = [{ name: 'data', persistentVolumeClaim: { claimName } }];
      addBarePod(world, {
        name: `tenant-${claimName.length}`,
        spec: { nodeName: scene.nodeOf(scene.holder), volumes },
      });
    }
    const install = installOver(world);
    expect(await deliver(install, stateChange(scene.holder))).toEqual(again());
    expect(stateOf(world).nodes).toContain(fencedLine(scene.nodeOf(scene.holder)));
    const line = install.lines.find(({ because }) => because === 'impossible-name');
    expect(line).toMatchObject({ decision: 'skipped', instance: scene.holder, node: scene.nodeOf(scene.holder) });
    expect(String(line?.['says'])).toMatch(/does not look for them: "\.\.", " \[2Jx+…"; a claim/);
    expect(String(line?.['says']).length).toBeLessThan(400);
  });

  it('understands a test notification, and ignores it', async () => {
    const install = installOver(stopped().world);
    expect(await deliver(install, { Event: 'autoscaling:TEST_NOTIFICATION' })).toEqual(again());
    expect({ dead: install.dead, decisions: decisions(install) }).toEqual({ dead: [], decisions: ['aside'] });
  });

  it.each([
    ['account', { account: '999999999999' }],
    ['region', { region: 'ap-south-1' }],
  ])('refuses an event of another %s, and names that', async (_, change) => {
    const { world, scene } = stopped();
    const install = installOver(world);
    expect(await deliver(install, stateChange(scene.holder, 'stopped', change))).toEqual(again());
    expect(install.lines).toMatchObject([{ decision: 'foreign', instance: scene.holder }]);
    expect(stateOf(world).nodes).not.toContain(fencedLine(scene.nodeOf(scene.holder)));
  });
});

describe('a machine that has to wait', () => {
  it('is sent again with a delay, and is not kept in the process', async () => {
    const { world, scene } = stopped();
    shutdownTakes(world, scene.spare, 600_000);
    stopMachine(world, scene.spare);
    const install = installOver(world);
    const before = world.now();
    expect(await deliver(install, stateChange(scene.spare, 'stopping'))).toEqual(again());
    expect(world.now() - before).toBeLessThan(5_000);
    expect(install.sentAgain).toMatchObject([
      { delaySeconds: 2, message: { machine: scene.spare, hops: 1, because: 'stopping' } },
    ]);
  });

  it('comes back with growing delays, and is left to the sweep in the end', async () => {
    const { world, scene } = stopped();
    shutdownTakes(world, scene.spare, 6_000_000);
    stopMachine(world, scene.spare);
    const install = installOver(world);
    let message: unknown = stateChange(scene.spare, 'stopping');
    for (let hop = 0; hop <= MAX_ATTEMPTS; hop += 1) {
      await deliver(install, message);
      message = install.sentAgain.at(-1)?.message;
    }
    const delays = install.sentAgain.map(({ delaySeconds }) => delaySeconds);
    expect(delays).toHaveLength(MAX_ATTEMPTS);
    expect(delays).toEqual([...delays].sort((a, b) => a - b));
    expect(decisions(install).at(-1)).toBe('handed-to-sweep');
  });

  it('is sent again once, however many messages name it', async () => {
    const { world, scene } = stopped();
    shutdownTakes(world, scene.spare, 600_000);
    stopMachine(world, scene.spare);
    const install = installOver(world);
    expect(await deliver(install, stateChange(scene.spare, 'stopping'), stateChange(scene.spare, 'stopping'))).toEqual(
      again(),
    );
    expect(install.sentAgain).toMatchObject([{ message: { machine: scene.spare } }]);
  });

  it('is released in two steps, and waits in the queue between them', async () => {
    const { world, scene } = await diedAfterMark();
    startMachine(world, scene.holder);
    world.advance(90_000);
    const install = installOver(world);
    await deliver(install, stateChange(scene.holder, 'running'));
    expect(install.sentAgain).toMatchObject([{ delaySeconds: 90, message: { because: 'controllers-settling' } }]);
    world.advance(90_000);
    await deliver(install, install.sentAgain[0]?.message);
    expect(stateOf(world).nodes).toContain(`${scene.nodeOf(scene.holder)} []`);
    expect(decisions(install).at(-1)).toBe('released');
  });

  it('is looked at again if only the cap refused it', async () => {
    const { world, scene } = stopped();
    await clusterOver(world).reserve(
      { machine: 'i-another', boot: null, cap: { share: 1, atOnce: 1 }, onlyAsked: false },
      never(),
    );
    const install = installOver(world);
    expect(await deliver(install, stateChange(scene.holder))).toEqual(again());
    expect(install.sentAgain).toMatchObject([
      {
        message: { machine: scene.holder, because: 'cap-reached' },
        delaySeconds: expect.toSatisfy((seconds: number) => seconds > 880 && seconds <= 900),
      },
    ]);
    world.advance(900_000);
    await deliver(install, install.sentAgain[0]?.message);
    expect(stateOf(world).nodes).toContain(fencedLine(scene.nodeOf(scene.holder)));
  });

  it('is reported as failed, and looked at again, if a detach is denied while Kubernetes detaches', async () => {
    const { world, scene } = attacherDown();
    addFault(world.parts.ec2, {
      action: 'DetachVolume',
      times: Infinity,
      mishap: { kind: 'error', code: 'UnauthorizedOperation', status: 403 },
    });
    const install = installOver(world);
    expect(await deliver(install, stateChange(scene.holder))).toEqual(again());
    expect(install).toMatchObject({
      dead: [],
      sentAgain: [{ message: { machine: scene.holder, hops: 1, because: 'step-refused' } }],
    });
    expect(install.lines).toContainEqual(
      expect.objectContaining({
        decision: 'failed',
        says: expect.stringMatching(/declined: disk\/vol-\S+: .*UnauthorizedOperation.*Kubernetes detaches 1 volume/),
      }),
    );
    world.parts.cluster.knobs.attacherDown = false;
    world.advance(60_000);
    expect(await deliver(install, install.sentAgain[0]?.message)).toEqual(again());
    expect(stateOf(world)).toMatchObject({
      disks: expect.arrayContaining([`${scene.volume} at ${scene.spare} attached`]),
      violations: [],
    });
    expect(stateOf(world).nodes).toContain(fencedLine(scene.nodeOf(scene.holder)));
  });

  it('carries the record, so that a Node that is deleted meanwhile is still fenced to the end', async () => {
    const { world, scene } = attacherDown();
    const install = installOver(world);
    await deliver(install, stateChange(scene.holder));
    const [sent] = install.sentAgain;
    const node = getObject(world, 'nodes', scene.nodeOf(scene.holder));
    expect(sent?.message.record).toEqual(parseRecord(node?.metadata.annotations?.[RECORD_ANNOTATION] ?? ''));
    if (node) writerAs(world, 'somebody').remove('nodes', node);
    world.parts.cluster.knobs.attacherDown = false;
    world.advance(30_000);
    await deliver(install, sent?.message);
    world.advance(300_000);
    expect(stateOf(world)).toMatchObject({
      disks: expect.arrayContaining([`${scene.volume} at ${scene.spare} attached`]),
      violations: [],
    });
  });
});

describe('a message that failed', () => {
  it('is returned for redelivery', async () => {
    const { world, scene } = stopped();
    addFault(world.parts.ec2, {
      action: 'DescribeInstances',
      mishap: { kind: 'error', status: 503, code: 'Unavailable' },
      times: 1_000,
    });
    const install = installOver(world);
    expect(await deliver(install, stateChange(scene.holder))).toEqual(again('m-0'));
  });

  const failing = () => {
    const { world, scene } = stopped();
    addFault(world.parts.ec2, { mishap: { kind: 'error', status: 503, code: 'Unavailable' }, times: 1_000 });
    const install = installOver(world);
    const record = (receives: number) => ({
      Records: [
        {
          messageId: 'm-0',
          receiptHandle: 'receipt-0',
          attributes: { ApproximateReceiveCount: String(receives) },
          body: JSON.stringify(stateChange(scene.holder)),
        },
      ],
    });
    const receive = (receives: number) =>
      onEvent(async () => install.dependencies)(record(receives), install.context());
    return { install, receive };
  };

  it('comes back after a few seconds, which double with each delivery', async () => {
    const { install, receive } = failing();
    for (const receives of [1, 2, 9]) expect(await receive(receives)).toEqual(again('m-0'));
    expect(install.postponed).toEqual([
      { receipt: 'receipt-0', delaySeconds: 5 },
      { receipt: 'receipt-0', delaySeconds: 10 },
      { receipt: 'receipt-0', delaySeconds: 900 },
    ]);
  });

  it('is a dead letter with its reason at the last delivery, before the queue makes it one without', async () => {
    const { install, receive } = failing();
    expect(await receive(MOST_DELIVERIES)).toEqual(again());
    expect(install.dead).toEqual([
      { body: expect.stringContaining('e-i-'), reason: expect.stringMatching(/^the message failed 10 times: unavail/) },
    ]);
    install.outage.queue = true;
    expect(await receive(MOST_DELIVERIES)).toEqual(again('m-0'));
    const queue = await readFile(new URL('../../infra/aws/queues.yml', import.meta.url), 'utf8');
    expect(queue).toContain(`maxReceiveCount: ${MOST_DELIVERIES}\n`);
  });

  it('causes one dead letter for all that it cannot do, and none while it comes back', async () => {
    const { world, scene } = stopped();
    const install = installOver(world);
    const looks = [
      () => Promise.reject(new Unavailable('EC2 is down')),
      () => Promise.reject(new InvalidConfiguration(['HTTPS_PROXY is not a URL: write one'])),
    ];
    const cloud = { ...install.dependencies.ports.cloud, look: () => looks[0]?.() ?? Promise.resolve([]) };
    const ports = { ...install.dependencies.ports, cloud };
    const mixed = [stateChange(scene.holder), stateChange(scene.spare), { hello: 'world' }];
    const receive = () => onEvent(async () => ({ ...install.dependencies, ports }))(batchOf(mixed), install.context());
    expect(await receive()).toEqual(again('m-0'));
    expect(install.dead).toEqual([]);
    looks.shift();
    expect(await receive()).toEqual(again());
    expect(install.dead).toEqual([
      {
        body: JSON.stringify(mixed),
        reason: expect.stringMatching(/not an event that Cloudfence supports[^]*; invalid: [^]*HTTPS_PROXY/),
      },
    ]);
  });

  it('comes back after the visibility timeout if that cannot be shortened, and this is logged', async () => {
    const { install, receive } = failing();
    install.outage.queue = true;
    expect(await receive(1)).toEqual(again('m-0'));
    expect(install.lines).toContainEqual(
      expect.objectContaining({
        decision: 'failed',
        because: 'queue',
        says: expect.stringContaining('cannot be reached'),
      }),
    );
  });

  it('is a dead letter with the complete reason if no other delivery can help', async () => {
    const { world, scene } = stopped();
    const look = () => Promise.reject(new InvalidConfiguration(['HTTPS_PROXY is not a URL: write one']));
    const install = installOver(world, {}, { cloud: { ...portsOver(world).cloud, look } });
    const event = stateChange(scene.holder);
    expect(await deliver(install, event)).toEqual(again());
    expect(install.dead).toEqual([
      {
        body: JSON.stringify(event),
        reason: expect.stringMatching(/^invalid: [^]*HTTPS_PROXY is not a URL: write one/),
      },
    ]);
  });

  it('comes back up to half of the time earlier, by chance', () => {
    expect([0, 0.5, 1].map((chance) => redeliveryDelay(3, chance))).toEqual([20, 15, 10]);
  });

  it('is returned if the queue does not accept the delayed message', async () => {
    const { world, scene } = stopped();
    shutdownTakes(world, scene.spare, 600_000);
    stopMachine(world, scene.spare);
    const install = installOver(world);
    install.outage.queue = true;
    expect(await deliver(install, stateChange(scene.spare, 'stopping'), 'nonsense', stateChange(scene.holder))).toEqual(
      again('m-0', 'm-1'),
    );
  });
});

it('causes one log line for each step and each end, with the same names, and its metrics', async () => {
  const { world, scene } = terminated();
  const install = installOver(world);
  await deliver(install, stateChange(scene.holder, 'terminated'));
  const names = [
    'decision',
    'because',
    'says',
    'event',
    'instance',
    'cluster',
    'node',
    'dryRun',
    'step',
    'target',
    'result',
    'ms',
    'requestId',
  ];
  for (const line of install.lines) expect(Object.keys(line)).toEqual(expect.arrayContaining(names));
  expect(install.lines).toMatchObject([
    {
      decision: 'step',
      step: 'mark',
      event: `e-${scene.holder}`,
      instance: scene.holder,
      requestId: expect.stringMatching(/./),
    },
    { decision: 'step', step: 'delete-pod' },
    { decision: 'step', step: 'delete-node' },
    {
      decision: 'fenced',
      Outcomes: 1,
      Outcome: 'fenced',
      EventToProof: expect.any(Number),
      ProofToMark: expect.any(Number),
      MarkToPodsGone: expect.any(Number),
      PodsGoneToFenced: expect.any(Number),
      _aws: {
        CloudWatchMetrics: expect.arrayContaining([
          { Namespace: 'Cloudfence', Dimensions: [['Outcome']], Metrics: [{ Name: 'Outcomes', Unit: 'Count' }] },
        ]),
      },
    },
  ]);
});
