import { createHash } from 'node:crypto';
import type { IncidentKeeper } from '../../../incidents/keep.ts';
import { createIncidentKeeper as awsKeeper } from '../../../providers/aws/incidents.ts';
import { createIncidentKeeper as azureKeeper } from '../../../providers/azure/incidents.ts';
import { createIncidentKeeper as gcpKeeper } from '../../../providers/gcp/incidents.ts';
import { openStandIn, type Answered, type Request } from '../../providers/stand-in.ts';
import { credential } from '../../sandbox/azure/azure-world.ts';

/** A bucket and topics of each cloud on a socket of this computer, with the conditions that the cloud checks. */

export interface KeeperHarness {
  readonly keeper: IncidentKeeper;
  /** The objects by their name, as the cloud stores them. */
  readonly objects: Map<string, { text: string; version: number }>;
  /** What arrived at each topic. */
  readonly told: { readonly topic: string; readonly message: unknown }[];
  /** The status that everything answers, or null. */
  readonly trouble: { status: number | null };
  readonly close: () => Promise<void>;
}

type World = Pick<KeeperHarness, 'objects' | 'told' | 'trouble'>;

/** How one cloud names what all of them do. */
interface Dialect {
  readonly prefix: string;
  readonly version: string;
  /** Returns the version that a write demands: null for none, undefined for any. */
  readonly demanded: (request: Request) => string | null | undefined;
  readonly exists: number;
  readonly tell: (request: Request, world: World) => Answered | null;
  /** What is wrong with a request, or null. */
  readonly fault: (request: Request) => string | null;
}

const one = (value: string | string[] | undefined): string | undefined => [value].flat()[0];

const byEtag: Dialect['demanded'] = ({ headers }) =>
  headers['if-none-match'] === '*' ? null : one(headers['if-match'])?.replaceAll('"', '');

const store = (request: Request, name: string, { objects }: World, dialect: Dialect): Answered => {
  const found = objects.get(name);
  const quoted = (version: number) => (dialect.version === 'etag' ? `"${version}"` : `${version}`);
  if (request.method === 'GET')
    return found
      ? { body: found.text, headers: { [dialect.version]: quoted(found.version) } }
      : { status: 404, body: '<Error><Code>NoSuchKey</Code></Error>' };
  const demanded = dialect.demanded(request);
  if (demanded === null && found) return { status: dialect.exists };
  if (typeof demanded === 'string' && demanded !== String(found?.version)) return { status: found ? 412 : 404 };
  objects.set(name, { text: request.body.toString(), version: (found?.version ?? 0) + 1 });
  return { status: 200, body: '' };
};

const opened = async (dialect: Dialect, keeperAt: (url: string) => IncidentKeeper): Promise<KeeperHarness> => {
  const world: World = { objects: new Map(), told: [], trouble: { status: null } };
  const standIn = await openStandIn((request) => {
    if (world.trouble.status !== null) return { status: world.trouble.status };
    const fault = dialect.fault(request);
    if (fault !== null) return { status: 400, body: fault };
    const said = dialect.tell(request, world);
    const name = decodeURIComponent(request.url.slice(dialect.prefix.length));
    return said ?? store(request, name, world, dialect);
  });
  return { ...world, keeper: keeperAt(standIn.url), close: standIn.close };
};

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** The service that a request is signed for. */
const signedFor = ({ authorization }: Request): string | null =>
  /^AWS4-HMAC-SHA256 Credential=[^/]+\/\d{8}\/eu-west-1\/(\w+)\/aws4_request/.exec(authorization ?? '')?.[1] ?? null;

const aws: Dialect = {
  prefix: '/incidents-bucket/',
  version: 'etag',
  demanded: byEtag,
  exists: 412,
  fault: (request) => {
    const wanted = request.headers['x-amz-target'] ? 'events' : request.method === 'POST' ? 'sns' : 's3';
    if (signedFor(request) !== wanted) return `not signed for ${wanted}`;
    return wanted === 's3' && request.headers['x-amz-content-sha256'] !== sha256(request.body) ? 'no checksum' : null;
  },
  tell: ({ method, headers, body }, { told }) => {
    if (method !== 'POST') return null;
    if (headers['x-amz-target'] === 'AWSEvents.PutEvents') {
      for (const entry of JSON.parse(body.toString()).Entries)
        told.push({ topic: `${entry.Source}: ${entry.DetailType}`, message: JSON.parse(entry.Detail) });
      return { body: { FailedEntryCount: 0, Entries: [{ EventId: '1' }] } };
    }
    const form = new URLSearchParams(body.toString());
    told.push({ topic: form.get('TopicArn') ?? '', message: JSON.parse(form.get('Message') ?? '') });
    return { body: '<PublishResponse/>' };
  },
};

const azure: Dialect = {
  prefix: '/incidents-container/',
  version: 'etag',
  demanded: byEtag,
  exists: 409,
  fault: ({ method, headers, url }) => {
    if (method === 'POST') return url === '/api/events?api-version=2018-01-01' ? null : 'not a topic';
    if (headers['x-ms-version'] === undefined) return 'no version';
    return method === 'PUT' && headers['x-ms-blob-type'] !== 'BlockBlob' ? 'no type' : null;
  },
  tell: ({ method, body }, { told }) => {
    if (method !== 'POST') return null;
    for (const { type, data } of JSON.parse(body.toString())) told.push({ topic: type, message: data });
    return { body: '' };
  },
};

const gcp: Dialect = {
  prefix: '/incidents-bucket/',
  version: 'x-goog-generation',
  demanded: ({ headers }) => {
    const wanted = one(headers['x-goog-if-generation-match']);
    return wanted === '0' ? null : wanted;
  },
  exists: 412,
  fault: () => null,
  tell: ({ method, url, body }, { told }) => {
    if (method !== 'POST') return null;
    for (const { data } of JSON.parse(body.toString()).messages)
      told.push({
        topic: url.replace(/^\/v1\/(.*):publish$/, '$1'),
        message: JSON.parse(Buffer.from(data, 'base64').toString()),
      });
    return { body: { messageIds: ['1'] } };
  },
};

export const TOPIC_ARN = 'arn:aws:sns:eu-west-1:111122223333:incidents';
const signing = { region: 'eu-west-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } };

/** The topics that hear of a fence, and the harness of each cloud. */
export const keepers: readonly (readonly [string, readonly string[], () => Promise<KeeperHarness>])[] = [
  [
    'aws',
    ['cloudfence: Cloudfence Fence', TOPIC_ARN],
    () =>
      opened(aws, (endpoint) => awsKeeper({ bucket: 'incidents-bucket', topic: TOPIC_ARN }, { ...signing, endpoint })),
  ],
  [
    'azure',
    ['cloudfence.fence'],
    () =>
      opened(azure, (url) =>
        azureKeeper({ container: `${url}/incidents-container`, topic: `${url}/api/events` }, { credential }),
      ),
  ],
  [
    'gcp',
    ['projects/p/topics/incidents'],
    () =>
      opened(gcp, (endpoint) =>
        gcpKeeper({ bucket: 'incidents-bucket', topic: 'projects/p/topics/incidents' }, { endpoint }),
      ),
  ],
];
