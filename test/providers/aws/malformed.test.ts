import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { CloudfenceError } from '../../../fencing/model/errors.ts';
import { awsCloud } from '../../../providers/aws/index.ts';
import { ec2Clients } from '../../../providers/aws/client.ts';
import { handleEc2 } from '../../../sandbox/ec2/query.ts';
import { addInstance, addVolume } from '../../../sandbox/ec2/scenario.ts';
import { credentials, ec2World, patient, region } from '../../sandbox/ec2/ec2-world.ts';
import { malformedXml, type Malformed } from '../malformed.ts';
import { openStandIn, type StandIn } from '../stand-in.ts';

/**
 * Hundreds of answers that EC2 never gives. The SDK reads them from a socket. All the time, the machine runs and holds
 * its disk.
 */

const world = ec2World();
const machine = addInstance(world);
const disk = addVolume(world, {}, { instance: machine });
const nobody = 'i-0ffffffffffffffff';

let standIn: StandIn;
let malform: Malformed = (truth) => truth;
beforeAll(async () => {
  standIn = await openStandIn(({ body }) => {
    const { status, body: said, requestId } = handleEc2(world, new URLSearchParams(body.toString()));
    return {
      headers: { 'content-type': 'text/xml;charset=UTF-8', 'x-amzn-requestid': requestId },
      ...malform({ status, body: said }),
    };
  });
  return standIn.close;
});

/** Without the retries of the SDK, which take real time. */
const cloud = () => {
  const { writes } = ec2Clients({ region, credentials, endpoint: standIn.url });
  return awsCloud({
    clients: { reads: writes({ check: () => undefined, through: (agent) => agent, signal: patient() }), writes },
    region,
  });
};

const answerOrNone = async <T>(call: Promise<T>): Promise<T | null> => {
  try {
    return await call;
  } catch (error) {
    expect(error).toBeInstanceOf(CloudfenceError);
    return null;
  }
};

it('no malformed answer makes a running machine missing or off', async () => {
  const proven = cloud();
  await fc.assert(
    fc.asyncProperty(malformedXml, async (how) => {
      malform = how;
      const facts = await answerOrNone(proven.look([machine], { disks: true }, patient()));
      expect(['running', 'unknown', 'none']).toContain(facts?.[0]?.power ?? 'none');
    }),
    { numRuns: 400 },
  );
});

it('no malformed answer makes a disk free that a machine holds, or a disk that is unknown', async () => {
  const proven = cloud();
  await fc.assert(
    fc.asyncProperty(malformedXml, fc.constantFrom(disk, 'vol-0ffffffffffffffff'), async (how, asked) => {
      malform = how;
      expect(['held', 'none']).toContain((await answerOrNone(proven.witness(machine, [asked], patient()))) ?? 'none');
    }),
    { numRuns: 400 },
  );
});

it('no malformed answer makes an unknown machine one on which Cloudfence acts', async () => {
  const proven = cloud();
  await fc.assert(
    fc.asyncProperty(malformedXml, async (how) => {
      malform = how;
      const facts = await answerOrNone(proven.look([nobody], { disks: true }, patient()));
      expect(['missing', 'unknown', 'none']).toContain(facts?.[0]?.power ?? 'none');
    }),
    { numRuns: 100 },
  );
});

it('only the error code of EC2 itself makes a machine missing', async () => {
  malform = (truth) => truth;
  expect(await cloud().look([machine, nobody], { disks: true }, patient())).toMatchObject([
    { power: 'running' },
    { power: 'missing' },
  ]);
  malform = ({ body }) => ({ status: 404, body });
  await expect(cloud().look([nobody], { disks: false }, patient())).rejects.toBeInstanceOf(CloudfenceError);
  malform = ({ status, body }) => ({ status, body: body.replaceAll(machine, 'i-0eeeeeeeeeeeeeeee') });
  expect(await cloud().look([machine], { disks: false }, patient())).toMatchObject([
    { power: 'unknown', evidence: { state: 'not in the answer' } },
  ]);
  malform = ({ status }) => ({
    status,
    body: '<DescribeInstancesResponse><requestId>r</requestId><reservationSet/></DescribeInstancesResponse>',
  });
  expect(await cloud().look([machine], { disks: false }, patient())).toMatchObject([{ power: 'unknown' }]);
});

it('an instance that one answer shows in two states has none of them', async () => {
  malform = ({ body, ...rest }) => ({
    ...rest,
    body: body.replace(
      /<instancesSet>([^]*)<\/instancesSet>/,
      (_, shown: string) =>
        `<instancesSet>${shown.replace('<name>running</name>', '<name>stopped</name>')}${shown}</instancesSet>`,
    ),
  });
  expect(await cloud().look([machine], { disks: false }, patient())).toMatchObject([
    { power: 'unknown', evidence: { state: 'contradictory' } },
  ]);
});
