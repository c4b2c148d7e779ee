import dns from 'node:dns';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PermissionDenied, Unavailable } from '../../fencing/model/errors.ts';
import { callClock } from '../../kubernetes/connection.ts';
import { createCluster } from '../../kubernetes/cluster.ts';
import { linkFromToken } from '../../kubernetes/access.ts';
import { awsCloud } from '../../providers/aws/index.ts';
import { ec2Clients } from '../../providers/aws/client.ts';
import { azureCloud } from '../../providers/azure/index.ts';
import { azureClients } from '../../providers/azure/client.ts';
import { gcpCloud } from '../../providers/gcp/index.ts';
import { computeClients } from '../../providers/gcp/client.ts';
import { describeNetworkError, firstLineOf, isUnreadableAnswer, requireSuccess } from '../../transport/answers.ts';
import { openStandIn } from '../providers/stand-in.ts';
import { credential, polling, prefix, subscription } from '../sandbox/azure/azure-world.ts';
import { credentials, region } from '../sandbox/ec2/ec2-world.ts';
import { requestIds } from '../sandbox/gce/gce-world.ts';

const never = (): AbortSignal => new AbortController().signal;

/** Sends one request to whatever is at that address. */
const asked = {
  EC2: (endpoint: string) =>
    awsCloud({ clients: ec2Clients({ region, credentials, endpoint }), region }).look(
      ['i-0123456789abcdef0'],
      { disks: false },
      never(),
    ),
  Azure: (endpoint: string) =>
    azureCloud(azureClients({ subscription, credential, endpoint, polling })).look(
      [`${prefix}/virtualmachines/db-0`],
      { disks: false },
      never(),
    ),
  'Compute Engine': (endpoint: string) =>
    gcpCloud(computeClients({ newRequestId: requestIds(), endpoint })).look(
      ['projects/my-project/zones/europe-west1-a/instances/db-0'],
      { disks: false },
      never(),
    ),
  Kubernetes: (endpoint: string) => {
    const link = linkFromToken({ server: endpoint.replace('http:', 'https:'), ca: null, token: async () => 'secret' });
    return createCluster({ name: 'c', link, clock: { ...callClock, sleep: async () => undefined } }).recheck(
      'n',
      never(),
    );
  },
};
const each = Object.entries(asked);

const closedPort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
};

const UNKNOWN = 'nobody.invalid';

const { lookup } = dns;

/** Answers at once that this name is unknown. A real name server may take longer than an SDK waits. */
const lookupWithout = (hostname: string, ...rest: readonly unknown[]): void => {
  const callback = rest.at(-1);
  const code = 'ENOTFOUND';
  const error = Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), { code, hostname, syscall: 'getaddrinfo' });
  if (hostname !== UNKNOWN) Reflect.apply(lookup, dns, [hostname, ...rest]);
  else if (typeof callback === 'function') process.nextTick(callback, error);
};

beforeAll(() => void vi.spyOn(dns, 'lookup').mockImplementation(lookupWithout));
afterAll(() => void vi.restoreAllMocks());

/** Some SDKs repeat the call for seconds, so all of them wait at the same time. */
describe.concurrent.each(each)('the error of %s without an answer', (_name, ask) => {
  it('says where no server listens', async () => {
    const port = await closedPort();
    const failed = ask(`http://127.0.0.1:${port}`);
    await expect(failed).rejects.toBeInstanceOf(Unavailable);
    await expect(failed).rejects.toThrow(new RegExp(`ECONNREFUSED 127\\.0\\.0\\.1:${port}`));
  });

  it('says which name is unknown', async () => {
    const failed = ask(`http://${UNKNOWN}`);
    await expect(failed).rejects.toBeInstanceOf(Unavailable);
    await expect(failed).rejects.toThrow(`ENOTFOUND ${UNKNOWN}`);
  });
});

it('names the first of many addresses that were tried in vain', () => {
  const one = (address: string) =>
    Object.assign(new Error(`connect ECONNREFUSED ${address}:443`), { code: 'ECONNREFUSED', address, port: 443 });
  const all = Object.assign(new AggregateError([one('10.0.0.1'), one('10.0.0.2')]), { code: 'ECONNREFUSED' });
  expect(describeNetworkError(new Error('wrapped', { cause: all }))).toBe('ECONNREFUSED 10.0.0.1:443');
  expect(describeNetworkError(all, 'ec2.eu-west-1.amazonaws.com')).toBe(
    'ECONNREFUSED 10.0.0.1:443 (ec2.eu-west-1.amazonaws.com)',
  );
});

it('an error that is not of the network is not treated as one', () =>
  expect(describeNetworkError(new Error('ENOTFOUND'))).toBeNull());

const thrownBy = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (error) {
    return error;
  }
};

const failures: readonly [string, () => unknown][] = [
  ['a page in place of JSON', () => JSON.parse('<html>')],
  ['an address with half of a code', () => decodeURIComponent('%E0%A4')],
  ['a length that cannot be', () => 'x'.repeat(-1)],
  ['an object without an expected part', () => JSON.parse('{"a":null}').a.b],
];

it.each(failures)('%s is an answer that cannot be read', (_, read) =>
  expect(isUnreadableAnswer(thrownBy(read))).toBe(true),
);

it('an error that a library made itself is not one', () =>
  expect(isUnreadableAnswer(new Error('the request failed'))).toBe(false));

it.each([199, 302, 304])('an answer with the status %i is no success, because nothing was stored', (status) =>
  expect(() => requireSuccess({ status, header: () => null, text: '' }, { name: 's3:PutObject' })).toThrow(Unavailable),
);

it('only the first line of a long message is kept, up to a length', () => {
  expect(firstLineOf('who may not do what\nand the request, signature and all')).toBe('who may not do what');
  expect(firstLineOf('x'.repeat(9_000))).toHaveLength(2_000);
});

/**
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html and, for the sentence,
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
 */
const ec2Error = (code: string, message: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><Response><Errors><Error><Code>${code}</Code><Message>${message}</Message></Error></Errors><RequestID>r</RequestID></Response>`;

const denials = {
  EC2: {
    answer: {
      status: 403,
      headers: { 'content-type': 'text/xml' },
      body: ec2Error(
        'UnauthorizedOperation',
        'You are not authorized to perform this operation. User: arn:aws:sts::123456789012:assumed-role/fence/x is not authorized to perform: ec2:DescribeInstances because no identity-based policy allows the ec2:DescribeInstances action. Encoded authorization failure message: 4GIOHlTkIaWHQD0Q',
      ),
    },
    says: /UnauthorizedOperation: .*assumed-role\/fence\/x is not authorized to perform: ec2:DescribeInstances .*Encoded authorization failure message: 4GIOHlTkIaWHQD0Q/,
  },
  Azure: {
    answer: {
      status: 403,
      body: {
        error: {
          code: 'AuthorizationFailed',
          message:
            "The client 'fence' with object id 'o' does not have authorization to perform action 'Microsoft.Compute/virtualMachines/read' over scope '/subscriptions/s'.",
        },
      },
    },
    says: /AuthorizationFailed: The client 'fence' .* 'Microsoft\.Compute\/virtualMachines\/read'/,
  },
  'Compute Engine': {
    answer: {
      status: 403,
      body: {
        error: {
          code: 403,
          message:
            "Required 'compute.instances.get' permission for 'projects/my-project/zones/europe-west1-a/instances/db-0'",
          errors: [{ domain: 'global', reason: 'forbidden', message: 'm' }],
        },
      },
    },
    says: /forbidden: Required 'compute\.instances\.get' permission for 'projects\/my-project/,
  },
};

it.each(Object.entries(denials))('%s says who may not do what, in its own words', async (name, { answer, says }) => {
  const standIn = await openStandIn(() => answer);
  const failed = each.find(([one]) => one === name)?.[1](standIn.url);
  await expect(failed).rejects.toBeInstanceOf(PermissionDenied);
  await expect(failed).rejects.toThrow(says);
  await standIn.close();
});

it('a request that EC2 quotes, with its session token, is not shown', async () => {
  const standIn = await openStandIn(() => ({
    status: 403,
    headers: { 'content-type': 'text/xml' },
    body: ec2Error('SignatureDoesNotMatch', 'The Canonical String was x-amz-security-token:secret'),
  }));
  await expect(asked.EC2(standIn.url)).rejects.toThrow(/^ec2:DescribeInstances returned SignatureDoesNotMatch$/);
  await standIn.close();
});
