import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { DescribeInstancesCommand, DescribeVolumesCommand, EC2Client } from '@aws-sdk/client-ec2';
import { XMLBuilder } from 'fast-xml-parser';

/** Stands before moto and refuses what EC2 refuses and moto lets through; it also gives restarted machines a new LaunchTime. */
export interface StrictProxy {
  readonly url: string;
  readonly close: () => Promise<void>;
}

interface Refusal {
  readonly code: string;
  readonly message: string;
}

export const openStrictProxy = async (moto: string, region: string): Promise<StrictProxy> => {
  const client = new EC2Client({ endpoint: moto, region, credentials: { accessKeyId: 'test', secretAccessKey: 'test' } });
  const launched = new Map<string, string>();
  const server = createServer((request, response) => void pass(moto, client, launched, request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the proxy has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: async () => {
      client.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
};

const pass = async (moto: string, client: EC2Client, launched: Map<string, string>, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const body = await text(request);
  const params = new URLSearchParams(body);
  const refusal = await refusalOf(client, params);
  if (refusal) return void response.writeHead(400, { 'content-type': 'text/xml' }).end(refusalXml(refusal));
  const headers = { 'content-type': 'application/x-www-form-urlencoded', authorization: request.headers.authorization ?? '' };
  const answer = await fetch(moto, { method: 'POST', headers, body });
  if (params.get('Action') === 'StartInstances' && answer.ok) for (const id of instanceIds(params)) launched.set(id, new Date().toISOString());
  response.writeHead(answer.status, { 'content-type': 'text/xml' }).end(relaunched(await answer.text(), launched));
};

const refusalXml = ({ code, message }: Refusal): string =>
  new XMLBuilder().build({ Response: { Errors: { Error: { Code: code, Message: message } }, RequestID: 'strict-proxy' } });

/** The launch time stands after the id within an instance's item. */
const relaunched = (xml: string, launched: ReadonlyMap<string, string>): string =>
  [...launched].reduce(
    (text, [id, time]) => text.replace(new RegExp(`(<instanceId>${id}</instanceId>(?:(?!<instanceId>)[^])*?<launchTime>)[^<]*`), `$1${time}`),
    xml,
  );

const instanceIds = (params: URLSearchParams): readonly string[] =>
  [...params].filter(([name]) => /^InstanceId(\.\d+)?$/.test(name)).map(([, value]) => value);

const refusalOf = async (client: EC2Client, params: URLSearchParams): Promise<Refusal | null> => {
  const malformed = instanceIds(params).find((id) => !/^i-(?:[0-9a-f]{8}|[0-9a-f]{17})$/.test(id));
  if (malformed !== undefined) return { code: 'InvalidInstanceID.Malformed', message: `Invalid id: "${malformed}"` };
  switch (params.get('Action')) {
    case 'AttachVolume':
      return (await holderOf(client, params)) ? { code: 'VolumeInUse', message: 'the volume is attached already' } : null;
    case 'DetachVolume':
      return detachRefusal(client, params);
    case null:
    default:
      return null;
  }
};

const detachRefusal = async (client: EC2Client, params: URLSearchParams): Promise<Refusal | null> => {
  if (!(await exists(client, params))) return null;
  const holder = await holderOf(client, params);
  if (!holder) return { code: 'IncorrectState', message: "the volume is in the 'available' state" };
  const asked = params.get('InstanceId') ?? holder.InstanceId;
  if (asked !== holder.InstanceId) return { code: 'InvalidAttachment.NotFound', message: 'the volume is not attached to that instance' };
  const answer = await client.send(new DescribeInstancesCommand({ InstanceIds: [String(asked)] }));
  const instance = answer.Reservations?.[0]?.Instances?.[0];
  const root = instance?.State?.Name === 'running' && instance.RootDeviceName === holder.Device;
  return root ? { code: 'OperationNotPermitted', message: 'this is the root volume of a running instance' } : null;
};

const described = async (client: EC2Client, params: URLSearchParams) => {
  const Filters = [{ Name: 'volume-id', Values: [params.get('VolumeId') ?? ''] }];
  return (await client.send(new DescribeVolumesCommand({ Filters }))).Volumes ?? [];
};

const exists = async (client: EC2Client, params: URLSearchParams) => (await described(client, params)).length > 0;
const holderOf = async (client: EC2Client, params: URLSearchParams) => (await described(client, params))[0]?.Attachments?.[0];
