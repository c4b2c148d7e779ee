import { createHash } from 'node:crypto';
import type { IncidentKeeper } from '../../../incidents/store.ts';
import * as aws from '../../../providers/aws/incidents.ts';
import * as azure from '../../../providers/azure/incidents.ts';
import * as gcp from '../../../providers/gcp/incidents.ts';
import type { IncidentPlace } from '../../../providers/plugin.ts';
import { openStandIn, type Answered, type Request, type StandIn } from '../../providers/stand-in.ts';
import { credential } from '../../sandbox/azure/azure-world.ts';
import { isSignedWith } from './signature.ts';

/** A bucket and topics of each cloud on a local socket, with the conditions that the cloud checks. */

export interface KeeperHarness {
  readonly keeper: IncidentKeeper;
  /** The objects by their names, as the cloud stores them. */
  readonly objects: Map<string, { text: string; version: number }>;
  /** The same objects, as `cloudfence report` reads them. */
  readonly place: IncidentPlace;
  /** The messages that arrived at each topic. */
  readonly announced: { readonly topic: string; readonly message: unknown }[];
  /** What happens to each message before its sender gets an answer. */
  readonly arrival: { act: ((message: unknown) => Promise<unknown>) | null };
  /** The status that every call returns, and what a list returns in place of its page, or null. */
  readonly trouble: { status: number | null; list: Answered | null };
  /** The requests that arrived. */
  readonly asked: StandIn['asked'];
  /** How a person writes the place, and the variables with which the CLI finds it. */
  readonly address: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly close: () => Promise<void>;
}

type World = Pick<KeeperHarness, 'objects' | 'announced' | 'arrival' | 'trouble'>;

/** The names that each cloud has for the same things. */
interface Dialect {
  readonly prefix: string;
  readonly version: string;
  /** Returns the version that a write requires: null for none, undefined for any. */
  readonly demanded: (request: Request) => string | null | undefined;
  readonly exists: number;
  readonly tell: (request: Request, world: World) => Answered | null;
  /** Returns a page of the list that a request asks for, or null if it does not ask for a list. */
  readonly list: (query: URLSearchParams, names: readonly string[]) => string | null;
  /** Returns what is wrong with a request, or null. */
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
  if (request.method === 'DELETE') return { status: objects.delete(name) ? 204 : 404 };
  const demanded = dialect.demanded(request);
  if (demanded === null && found) return { status: dialect.exists };
  if (typeof demanded === 'string' && demanded !== String(found?.version)) return { status: found ? 412 : 404 };
  objects.set(name, { text: request.body.toString(), version: (found?.version ?? 0) + 1 });
  return { status: 200, body: '' };
};

/** The number of objects on a page. */
const PAGE = 2;

/**
 * Returns the names on a page, and the token of the next page. Tokens are opaque, and contain characters that a query
 * has to escape.
 */
const pageOf = (names: readonly string[], prefix: string, token: string | null) => {
  const wanted = names.filter((name) => name.startsWith(prefix)).sort();
  const from = token === null ? 0 : Number(/^\+\/=&(\d+)$/.exec(token)?.[1]);
  const next = from + PAGE;
  return { page: wanted.slice(from, next), next: next < wanted.length ? `+/=&${next}` : null };
};

const xmlText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll("'", '&#39;');

const WRITTEN = '2026-01-01T00:00:30.000Z';

const s3List: Dialect['list'] = (query, names) => {
  if (query.get('list-type') !== '2') return null;
  const { page, next } = pageOf(names, query.get('prefix') ?? '', query.get('continuation-token'));
  const contents = page.map(
    (name) => `<Contents><Key>${xmlText(name)}</Key><LastModified>${WRITTEN}</LastModified></Contents>`,
  );
  const token = next === null ? '' : `<NextContinuationToken>${xmlText(next)}</NextContinuationToken>`;
  const list = `${token}<IsTruncated>${next !== null}</IsTruncated>${contents.join('')}`;
  const namespace = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
  return `<?xml version="1.0"?><ListBucketResult ${namespace}>${list}</ListBucketResult>`;
};

const blobList: Dialect['list'] = (query, names) => {
  if (query.get('comp') !== 'list' || query.get('restype') !== 'container') return null;
  const { page, next } = pageOf(names, query.get('prefix') ?? '', query.get('marker'));
  const blobs = page.map(
    (name) =>
      `<Blob><Name>${xmlText(name)}</Name><Properties><Last-Modified>${new Date(WRITTEN).toUTCString()}</Last-Modified></Properties></Blob>`,
  );
  const list = blobs.length === 0 ? '<Blobs />' : `<Blobs>${blobs.join('')}</Blobs>`;
  const marker = `<NextMarker>${xmlText(next ?? '')}</NextMarker>`;
  return `<?xml version="1.0"?><EnumerationResults>${list}${marker}</EnumerationResults>`;
};

const listed = (request: Request, { objects, trouble }: World, { prefix, list }: Dialect): Answered | null => {
  const { pathname, searchParams } = new URL(request.url, 'http://stand-in');
  if (request.method !== 'GET' || pathname.replace(/\/$/, '') !== prefix.replace(/\/$/, '')) return null;
  return trouble.list ?? { body: list(searchParams, [...objects.keys()]) ?? '' };
};

interface Opened {
  readonly keeper: IncidentKeeper;
  readonly place: IncidentPlace;
  readonly address: string;
  readonly environment: Readonly<Record<string, string>>;
}

const opened = async (dialect: Dialect, openAt: (url: string) => Opened): Promise<KeeperHarness> => {
  const world: World = {
    objects: new Map(),
    announced: [],
    arrival: { act: null },
    trouble: { status: null, list: null },
  };
  const standIn = await openStandIn(async (request) => {
    if (world.trouble.status !== null) return { status: world.trouble.status };
    const fault = dialect.fault(request);
    if (fault !== null) return { status: 400, body: fault };
    const said = dialect.tell(request, world);
    if (said) await world.arrival.act?.(world.announced.at(-1)?.message);
    const name = decodeURIComponent(request.url.slice(dialect.prefix.length));
    return said ?? listed(request, world, dialect) ?? store(request, name, world, dialect);
  });
  return { ...world, ...openAt(standIn.url), asked: standIn.asked, close: standIn.close };
};

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** The service for which a request is signed. */
const signedFor = ({ authorization }: Request): string | null =>
  /^AWS4-HMAC-SHA256 Credential=[^/]+\/\d{8}\/eu-west-1\/(\w+)\/aws4_request/.exec(authorization ?? '')?.[1] ?? null;

/** Also the one of the credentials with which the CLI runs against a sandbox. */
const SECRET = 'sandbox';

const awsDialect: Dialect = {
  prefix: '/incidents-bucket/',
  version: 'etag',
  demanded: byEtag,
  exists: 412,
  list: s3List,
  fault: (request) => {
    const wanted = request.headers['x-amz-target'] ? 'events' : request.method === 'POST' ? 'sns' : 's3';
    if (signedFor(request) !== wanted) return `not signed for ${wanted}`;
    if (!isSignedWith(SECRET, request)) return 'the signature does not match';
    return wanted === 's3' && request.headers['x-amz-content-sha256'] !== sha256(request.body) ? 'no checksum' : null;
  },
  tell: ({ method, headers, body }, { announced }) => {
    if (method !== 'POST') return null;
    if (headers['x-amz-target'] === 'AWSEvents.PutEvents') {
      for (const entry of JSON.parse(body.toString()).Entries)
        announced.push({ topic: `${entry.Source}: ${entry.DetailType}`, message: JSON.parse(entry.Detail) });
      return { body: { FailedEntryCount: 0, Entries: [{ EventId: '1' }] } };
    }
    const form = new URLSearchParams(body.toString());
    announced.push({ topic: form.get('TopicArn') ?? '', message: JSON.parse(form.get('Message') ?? '') });
    return { body: '<PublishResponse/>' };
  },
};

const TOPIC_URL = '/api/events?api-version=2018-01-01';
const QUEUE_URL = '/events/messages';

const azureDialect: Dialect = {
  prefix: '/incidents-container/',
  version: 'etag',
  demanded: byEtag,
  exists: 409,
  list: blobList,
  fault: ({ method, headers, url }) => {
    if (method === 'POST') return [TOPIC_URL, QUEUE_URL].includes(url) ? null : 'neither a topic nor a queue';
    if (headers['x-ms-version'] === undefined) return 'no version';
    return method === 'PUT' && headers['x-ms-blob-type'] !== 'BlockBlob' ? 'no type' : null;
  },
  tell: ({ method, url, body }, { announced }) => {
    if (method !== 'POST') return null;
    if (url === QUEUE_URL) {
      announced.push({ topic: 'events', message: JSON.parse(body.toString()) });
      return { status: 201, body: '' };
    }
    for (const { type, data } of JSON.parse(body.toString())) announced.push({ topic: type, message: data });
    return { body: '' };
  },
};

const gcpDialect: Dialect = {
  prefix: '/incidents-bucket/',
  version: 'x-goog-generation',
  demanded: ({ headers }) => {
    const wanted = one(headers['x-goog-if-generation-match']);
    return wanted === '0' ? null : wanted;
  },
  exists: 412,
  list: s3List,
  fault: () => null,
  tell: ({ method, url, body }, { announced }) => {
    if (method !== 'POST') return null;
    for (const { data } of JSON.parse(body.toString()).messages)
      announced.push({
        topic: url.replace(/^\/v1\/(.*):publish$/, '$1'),
        message: JSON.parse(Buffer.from(data, 'base64').toString()),
      });
    return { body: { messageIds: ['1'] } };
  },
};

export const TOPIC_ARN = 'arn:aws:sns:eu-west-1:111122223333:incidents';
const signing = { region: 'eu-west-1', credentials: { accessKeyId: 'a', secretAccessKey: SECRET } };

const openAws = (endpoint: string): Opened => {
  const options = { ...signing, endpoint };
  const bucket = 'incidents-bucket';
  return {
    keeper: aws.createIncidentKeeper({ bucket, topic: TOPIC_ARN }, options),
    place: { where: `the bucket ${bucket}`, objects: aws.openObjectStore(bucket, options) },
    address: `s3://${bucket}`,
    environment: {
      AWS_ENDPOINT_URL: endpoint,
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'a',
      AWS_SECRET_ACCESS_KEY: SECRET,
    },
  };
};

const openAzure = (url: string): Opened => {
  const container = `${url}/incidents-container`;
  return {
    keeper: azure.createIncidentKeeper({ container, topic: `${url}/api/events` }, { credential }),
    place: { where: `the container ${container}`, objects: azure.openObjectStore(container, { credential }) },
    address: container,
    environment: {},
  };
};

const openGcp = (endpoint: string): Opened => {
  const bucket = 'incidents-bucket';
  return {
    keeper: gcp.createIncidentKeeper({ bucket, topic: 'projects/p/topics/incidents' }, { endpoint }),
    place: { where: `the bucket ${bucket}`, objects: gcp.openObjectStore(bucket, { endpoint }) },
    address: `gs://${bucket}`,
    environment: { CLOUDFENCE_GCP_ENDPOINT: endpoint },
  };
};

/** The topics to which a fence is reported, and the harness of each cloud. */
export const keepers: readonly (readonly [string, readonly string[], () => Promise<KeeperHarness>])[] = [
  ['aws', ['cloudfence: Cloudfence Fence', TOPIC_ARN], () => opened(awsDialect, openAws)],
  ['azure', ['cloudfence.fence'], () => opened(azureDialect, openAzure)],
  ['gcp', ['projects/p/topics/incidents'], () => opened(gcpDialect, openGcp)],
];
