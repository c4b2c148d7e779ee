import { expect, it } from 'vitest';
import { ec2Clients } from '../../../providers/aws/client.ts';
import { inProcessHandler, type InProcessHandler } from '../../../sandbox/ec2/in-process-handler.ts';
import { addInstance, addVolume } from '../../../sandbox/ec2/scenario.ts';
import { type Ec2World, volumeIn } from '../../../sandbox/ec2/state.ts';
import { cloudOf, credentials, ec2World, patient, region } from '../../sandbox/ec2/ec2-world.ts';
import { granted } from '../../permits.ts';

/** The time of a server whose clock differs by years from that of the computer on which this test runs. */
const SERVER_TIME = new Date('2000-01-01T00:00:00Z');
const SIGNED_AS = '20000101T0000';

type Request = Parameters<InProcessHandler['handle']>[0] & { readonly headers?: Readonly<Record<string, string>> };

const rejected = new TextEncoder().encode(
  '<Response><Errors><Error><Code>RequestExpired</Code><Message>Request has expired.</Message></Error></Errors>' +
    '<RequestID>1</RequestID></Response>',
);

/** An EC2 that rejects requests whose signature has another time, and that says what time it is. */
const strictAboutTime = (world: Ec2World) => {
  const inner = inProcessHandler(world);
  const date = SERVER_TIME.toUTCString();
  return {
    ...inner,
    handle: async (request: Request, options?: Parameters<InProcessHandler['handle']>[1]) => {
      if (!request.headers?.['x-amz-date']?.startsWith(SIGNED_AS))
        return { response: { statusCode: 400, headers: { date, 'content-type': 'text/xml' }, body: rejected } };
      const { response } = await inner.handle(request, options);
      return { response: { ...response, headers: { ...response.headers, date } } };
    },
  };
};

it('a destructive call, which is sent once, uses the time that the reads have learned from EC2', async () => {
  const world = ec2World();
  const machine = addInstance(world, { state: 'stopped' });
  const disk = addVolume(world, {}, { instance: machine });
  const cloud = cloudOf(world, ec2Clients({ region, credentials, requestHandler: strictAboutTime(world) }));
  expect(await cloud.look([machine], { disks: true }, patient())).toMatchObject([{ power: 'off' }]);
  await cloud.detach({ machine, incarnation: null }, disk, 'plain', granted, patient());
  world.advance(60_000);
  expect(volumeIn(world, disk)?.attachments).toEqual([]);
});
