import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { generate } from 'selfsigned';
import { createDefaultHttpClient, type HttpClient } from '@azure/core-rest-pipeline';
import type { ArmOptions } from '../../../infra/azure/arm.ts';
import { openStandIn } from '../../providers/stand-in.ts';
import { SUBSCRIPTION } from './stage-files.ts';
import { withGroups } from './subscription.ts';
import type { Azure, Request } from './answers.ts';
import { reply } from './arm-routes.ts';

/** The APIs that a deployment calls, behind TLS, and the identity endpoint that issues tokens for them. */
export interface Management {
  readonly azure: Azure;
  /** Requests that change something, as method and path. */
  readonly writes: () => readonly string[];
  /** All requests so far. */
  readonly recorded: readonly Request[];
  /** With these variables, the SDK finds and trusts the stand-in, and gets a token. */
  readonly environment: Readonly<Record<string, string>>;
  /** The same for a caller in this process. */
  readonly trusted: Omit<ArmOptions, 'wait'>;
  readonly close: () => Promise<void>;
}

/** Groups of the subscription that belong to others. */
export const OTHERS = ['rg-aks', 'rg-secrets', 'rg-events', 'MC_blue', 'MC_green'];

const TOKEN = 'a-token-of-the-managed-identity';

const listen = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
};

/** https://learn.microsoft.com/azure/app-service/overview-managed-identity#rest-endpoint-reference */
const openIdentity = () =>
  openStandIn(() => ({
    body: {
      access_token: TOKEN,
      expires_on: String(Math.floor(Date.now() / 1_000) + 86_400),
      resource: 'x',
      token_type: 'Bearer',
    },
  }));

const needsToken = ({ pathname }: URL): boolean => !/^\/api\/(?!publish|deployments)/.test(pathname);
const changes = ({ method, url }: Request): boolean =>
  method !== 'GET' && !/whatIf$|listkeys$|\/query$|^\/api\/(?!publish)/.test(url.pathname);

const answered = async (
  azure: Azure,
  recorded: Request[],
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const request: Request = {
    method: incoming.method ?? 'GET',
    url: new URL(incoming.url ?? '/', `https://${incoming.headers.host ?? ''}`),
    body: await buffer(incoming),
    headers: incoming.headers,
  };
  recorded.push(request);
  const refused = needsToken(request.url) && incoming.headers.authorization !== `Bearer ${TOKEN}`;
  const {
    status,
    body,
    headers = {},
  } = refused
    ? { status: 401, body: { error: { code: 'InvalidAuthenticationToken', message: 'no token' } } }
    : reply(azure, request);
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(body === undefined ? undefined : JSON.stringify(body));
};

const trusting = (ca: string): HttpClient => {
  const client = createDefaultHttpClient();
  return {
    sendRequest: (request) => {
      request.tlsSettings = { ca };
      return client.sendRequest(request);
    },
  };
};

const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

export const openManagement = async (): Promise<Management> => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'management' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 7, ip: '127.0.0.1' },
          { type: 2, value: 'localhost' },
        ],
      },
    ],
  });
  const recorded: Request[] = [];
  const server = createServer(
    { key, cert },
    (incoming, response) => void answered(azure, recorded, incoming, response),
  );
  const identity = await openIdentity();
  const port = await listen(server);
  const origin = `https://127.0.0.1:${port}`;
  const azure: Azure = {
    held: withGroups(`/subscriptions/${SUBSCRIPTION}`, OTHERS),
    hosts: [`127.0.0.1:${port}`, `localhost:${port}`],
    identities: 0,
    origin,
    deployments: new Map(),
    packages: [],
    roleSpreads: 0,
    failed: null,
    answers: new Map(),
    operations: new Map(),
    mishaps: [],
  };
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-management-'));
  await writeFile(path.join(folder, 'trusted.pem'), cert);
  const environment = {
    CLOUDFENCE_AZURE_ENDPOINT: origin,
    NODE_EXTRA_CA_CERTS: path.join(folder, 'trusted.pem'),
    AZURE_TOKEN_CREDENTIALS: 'ManagedIdentityCredential',
    IDENTITY_ENDPOINT: `${identity.url}/token`,
    IDENTITY_HEADER: 'secret',
  };
  return {
    azure,
    writes: () => recorded.filter(changes).map(({ method, url }) => `${method} ${url.pathname}`),
    recorded,
    environment,
    trusted: {
      credential: { getToken: async () => ({ token: TOKEN, expiresOnTimestamp: Number.MAX_SAFE_INTEGER }) },
      endpoint: origin,
      httpClient: trusting(cert),
    },
    close: async () => {
      await Promise.all([closed(server), identity.close(), rm(folder, { recursive: true })]);
    },
  };
};
