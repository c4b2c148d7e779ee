import { afterEach, expect, it } from 'vitest';
import { CloudfenceError, Refused } from '../../../fencing/model/errors.ts';
import { putEventOn } from '../../../providers/aws/signed-calls.ts';
import { openStandIn, type Answered, type StandIn } from '../stand-in.ts';

/** Calls of services of AWS without their SDKs. */

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };
const event = { Source: 'cloudfence', DetailType: 'Cloudfence Fence', Resources: [], Time: 1, Detail: '{}' };

const servers: StandIn[] = [];
afterEach(() => Promise.all(servers.splice(0).map((one) => one.close())));

const serve = async (answered: Answered): Promise<StandIn> => {
  const server = await openStandIn(() => answered);
  servers.push(server);
  return server;
};

const put = async (answered: Answered): Promise<void> => {
  const { url: endpoint } = await serve(answered);
  await putEventOn({ region: 'eu-central-1', credentials, endpoint })(event, new AbortController().signal);
};

it.each([{ FailedEntryCount: 1, Entries: [{ ErrorCode: 'InternalFailure' }] }, { Entries: [] }, {}, '<html>'])(
  'an event is sent only if the bus says that it accepted it, whatever the status: %j',
  async (body) => {
    await expect(put({ body: { FailedEntryCount: 0, Entries: [{ EventId: 'e-1' }] } })).resolves.toBeUndefined();
    await expect(put({ body })).rejects.toBeInstanceOf(Refused);
  },
);

it('a signed request does not follow a redirect to another server', async () => {
  const elsewhere = await serve({ body: { FailedEntryCount: 0 } });
  const redirected = put({ status: 307, headers: { location: `${elsewhere.url}/` } });
  await expect(redirected).rejects.toBeInstanceOf(CloudfenceError);
  expect(elsewhere.asked).toEqual([]);
});
