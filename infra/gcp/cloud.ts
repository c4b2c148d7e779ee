import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { z } from 'zod';
import { readVariable } from '../../config/environment.ts';
import { readGcpEndpoint } from '../../providers/gcp/plugin/register.ts';
import {
  type DeployableCloud,
  createPollDelay,
  type RawParameters,
  prepareDeployment,
} from '../serverless/deployer.ts';
import {
  createApi,
  type HttpResponse,
  type Api,
  type ApiCaller,
  type ApiCall,
  errorFromResponse,
  apiHosts,
  isSuccess,
} from './api.ts';
import { gcpDeployer } from './deployer.ts';
import {
  type CheckedInstall,
  checkInstall,
  functionEnvironment,
  createInstall,
  gcpParameters,
  type Install,
  functionNames,
  resourceNames,
} from './install.ts';
import { parseConfiguration } from '../../config/configuration-text.ts';

const handler = z.custom<(request: object, response: ServerResponse) => Promise<void>>(
  (value) => typeof value === 'function',
);

/**
 * Replaces the Functions Framework: passes a request with a parsed body, and captures the response before it reaches a
 * socket.
 */
export const invokeLocally = async (exported: unknown, body: unknown): Promise<unknown> => {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const said = Promise.withResolvers<string>();
  response.end = (text?: unknown) => {
    said.resolve(typeof text === 'string' ? text : '');
    return response;
  };
  await handler.parse(exported)({ headers: {}, body }, response);
  const text = await said.promise;
  return { status: response.statusCode, ...(text !== '' && { body: JSON.parse(text) as unknown }) };
};

const prepareGcp = (prefix: string) => (checked: CheckedInstall) => {
  const install = createInstall(prefix, checked);
  const open = () => {
    const endpoint = readGcpEndpoint(readVariable);
    return gcpDeployer(createApi({ endpoint, wait: createPollDelay(endpoint) }), install);
  };
  return { environmentOf: (name: string) => functionEnvironment(install, name), open };
};

export const deployable: DeployableCloud = {
  parameters: gcpParameters,
  defaults: 'infra/gcp/parameters.yml',
  // The buildpack starts the framework that is listed here:
  // https://cloud.google.com/run/docs/write-functions
  manifest: { type: 'commonjs', main: 'index.js', dependencies: { '@google-cloud/functions-framework': '5.0.5' } },
  released: async (defaults) => ({ file: 'requests.json', content: await releasedRequests(defaults) }),
  prepare: ({ service, stage, written }) =>
    prepareDeployment(checkInstall(stage, written), prepareGcp(`${service}-${stage}`)),
  invokeLocally,
};

/**
 * Lists the requests that a deployment sends to a project without an install, in their order. Google Cloud has no
 * template that could contain all of them, so a release lists the requests themselves, with names in braces in place of
 * an install's own values.
 */

const request = z.object({
  /** `GRANT` is not a request: grant the body's role to its members there, and keep what others were granted. */
  method: z.string(),
  url: z.string(),
  body: z.unknown().optional(),
  /** The zip to send as the body. */
  upload: z.string().optional(),
});

type Request = z.infer<typeof request>;

const VALUES = {
  project: '{PROJECT}',
  projectNumber: '{PROJECT_NUMBER}',
  region: '{REGION}',
  stage: '{STAGE}',
  settings: '{SETTINGS}',
} as const;
/** A project number must be a number while the requests are made. */
const NUMBER = '999999999999';
const PLACEHOLDERS = { project: 'placeholder', region: 'europe-west1' } as const;

const installOf = (defaults: RawParameters): Install => {
  const { clusters: _clusters, policy: _policy, pause: _pause, shadow: _shadow, ...rest } = defaults;
  const parameters = {
    ...gcpParameters.parse({ ...rest, ...PLACEHOLDERS }),
    project: VALUES.project,
    region: VALUES.region,
  };
  const configuration = {
    ...parseConfiguration('{}', 'configuration'),
    clusters: [{ name: 'placeholder', gke: { project: VALUES.project, location: VALUES.region } }],
  };
  const prefix = `cloudfence-${VALUES.stage}`;
  return {
    parameters,
    settings: VALUES.settings,
    configuration,
    prefix,
    names: resourceNames({ project: VALUES.project, region: VALUES.region, prefix }),
  };
};

const ok = (body: HttpResponse['body']): HttpResponse => ({ status: 200, body });
const NOT_FOUND: HttpResponse = { status: 404, body: { error: { status: 'NOT_FOUND', message: 'not there' } } };
const UPLOAD = 'https://storage.googleapis.com/{UPLOAD_URL}';

/** The answers of a project that has nothing of the install, but everything that Google creates by itself. */
const emptyProjectAnswers: readonly (readonly [RegExp, (call: ApiCall) => HttpResponse])[] = [
  [/:testIamPermissions$/, ({ body }) => ok({ ...body })],
  [/:getIamPolicy|\/iam\?/, () => ok({ bindings: [] })],
  [
    /:generateUploadUrl$/,
    () => ok({ uploadUrl: UPLOAD, storageSource: { bucket: '{UPLOAD_BUCKET}', object: '{UPLOAD_OBJECT}' } }),
  ],
  [/\/services:batchGet/, () => ok({ services: [] })],
  [/^GET v1\/projects\/[^/]+$/, () => ok({ name: VALUES.project, projectNumber: NUMBER })],
  [/^GET .*\/(?:roles|alertPolicies|functions|dashboards)(?:\?|$)/, () => ok({})],
  [/^GET /, () => NOT_FOUND],
  [/./, () => ok({ name: 'operations/done', done: true, writerIdentity: 'serviceAccount:{SINK_WRITER}' })],
];

const answerTo = (call: ApiCall): HttpResponse =>
  emptyProjectAnswers.find(([form]) => form.test(`${call.method} ${call.path}`))?.[1](call) ?? NOT_FOUND;

const withCalls = (ask: ApiCaller['ask']): ApiCaller => ({
  ask,
  call: async (call) => {
    const answer = await ask(call);
    if (!isSuccess(answer)) throw errorFromResponse(call, answer);
    return answer.body;
  },
});

const bindings = z.object({ bindings: z.array(z.object({ role: z.string(), members: z.array(z.string()) })) });
const policy = z.union([z.object({ policy: bindings }).transform((body) => body.policy), bindings]);

/** Cloud Storage uses a different path. */
const WRITES_POLICY = /:setIamPolicy$|\/iam$/;

/**
 * Turns writing a policy into grants. A deployment reads a policy, extends it, and writes it back. Written as it is
 * here, the policy would revoke the grants of others.
 */
const grantRequests = (url: string, body: unknown): readonly Request[] =>
  policy
    .parse(body)
    .bindings.map((binding) => ({ method: 'GRANT', url: url.replace(WRITES_POLICY, ''), body: binding }));

const requestsOf = ({ method, host, path, body }: ApiCall): readonly Request[] => {
  const url = `${apiHosts[host]}/${path}`;
  return WRITES_POLICY.test(path) ? grantRequests(url, body) : [{ method, url, ...(body && { body }) }];
};

const isRead = ({ method, path }: ApiCall): boolean =>
  method === 'GET' || /:(?:testIamPermissions|getIamPolicy)/.test(path);

const refuse = (): never => {
  throw new Error('a deployment calls no function');
};

const releasedRequests = async (defaults: RawParameters): Promise<readonly Request[]> => {
  const requests: Request[] = [];
  const ask: ApiCaller['ask'] = async (call) => {
    if (!isRead(call)) requests.push(...requestsOf(call));
    return answerTo(call);
  };
  const upload: Api['upload'] = async (url, bytes) => {
    requests.push({ method: 'PUT', url, upload: bytes.toString() });
  };
  const api: Api = { ...withCalls(ask), over: withCalls, upload, invoke: refuse, wait: async () => {} };
  await gcpDeployer(api, installOf(defaults)).deploy(
    functionNames.map((name) => ({ name, zip: Buffer.from(`${name}.zip`) })),
    () => {},
  );
  const numbered = JSON.stringify(requests).replaceAll(NUMBER, VALUES.projectNumber);
  return z.array(request).parse(JSON.parse(numbered));
};
