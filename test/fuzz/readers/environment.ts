import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { loadSettings } from '../../../config/settings.ts';
import { readEnvironment } from '../../../config/environment.ts';
import { parseJsonOrNull } from '../../../fencing/model/json-text.ts';
import { lazyDependencies as onAws } from '../../../functions/aws/dependencies.ts';
import { lazyDependencies as onAzure } from '../../../functions/azure/dependencies.ts';
import { lazyDependencies as onGcp } from '../../../functions/gcp/dependencies.ts';
import { httpFunction } from '../../../functions/gcp/http.ts';
import { bodyText } from '../../../functions/messages.ts';
import { type Damage, damaged, decoded } from '../damage.ts';
import { CANARY, type Reader, type Reading } from '../judge.ts';

/** The environment of a function, as a template, a console, or a person set it. Nothing leaves this process. */

const settings = JSON.stringify({
  policy: { fenceAfter: '90s' },
  clusters: [{ name: 'c', kubeconfig: JSON.stringify({ token: CANARY }) }],
});
const nowhere = 'http://127.0.0.1:9';

const common = {
  CLOUDFENCE_SETTINGS: settings,
  CLOUDFENCE_TIMEOUT_SECONDS: '60',
  KUBECONFIG: '/nowhere/kubeconfig',
  HOME: '/nowhere',
  CLOUDFENCE_CONFIG: '/nowhere/cloudfence.yaml',
};

const environments: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  aws: {
    ...common,
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'AKIA',
    AWS_SECRET_ACCESS_KEY: CANARY,
    CLOUDFENCE_ACCOUNT: '111122223333',
    CLOUDFENCE_QUEUE_URL: `${nowhere}/q`,
    CLOUDFENCE_RULE_ARNS: 'arn:aws:events:eu-west-1:111122223333:rule/a,arn:aws:events:eu-west-1:111122223333:rule/b',
    CLOUDFENCE_NAMESPACE: 'Cloudfence',
    CLOUDFENCE_ONLY_TAGGED: 'team=blue',
  },
  azure: {
    ...common,
    AZURE_SUBSCRIPTION_ID: '11111111-1111-1111-1111-111111111111',
    AZURE_CLIENT_SECRET: CANARY,
    CLOUDFENCE_AZURE_ENDPOINT: nowhere,
    CLOUDFENCE_BUS__fullyQualifiedNamespace: 'bus.servicebus.windows.net',
    CLOUDFENCE_RESOURCE_GROUPS: 'one,two',
    HTTPS_PROXY: 'http://proxy.example:3128',
  },
  gcp: {
    ...common,
    CLOUDFENCE_GCP_ENDPOINT: nowhere,
    CLOUDFENCE_PROJECTS: 'one,two',
    CLOUDFENCE_AUDIENCE: 'https://f.example',
    CLOUDFENCE_CALLER: 'push@one.iam.gserviceaccount.com',
    CLOUDFENCE_CERTIFICATES_URL: `${nowhere}/certs`,
    CLOUDFENCE_ASKED_AT: `${nowhere}/sweep`,
    CLOUDFENCE_BEHIND_CLOUD_RUN: 'true',
  },
};
/** In another variable, such as a path, nothing shows that it contains a secret. */
const SECRETS = ['AWS_SECRET_ACCESS_KEY', 'AZURE_CLIENT_SECRET'];
const samples = Object.values(environments).map((one) => JSON.stringify(one));
const clouds = Object.keys(environments);

/** A variable is a text, and no text in the environment contains a NUL. */
const variablesIn = (text: string, cloud: string): Record<string, string> => {
  const read = parseJsonOrNull(text);
  const entries =
    typeof read === 'object' && read !== null && !Array.isArray(read)
      ? Object.entries(read)
      : [...Object.entries(environments[cloud] ?? {}), ['CLOUDFENCE_SETTINGS', text] as const];
  return Object.fromEntries(
    entries
      .filter(([name]) => name !== '' && !name.includes('=') && !name.includes('\u0000'))
      .map(([name, value]) => [name, bodyText(value).replaceAll('\u0000', '')]),
  );
};

const withVariables = async <T>(variables: Record<string, string>, run: () => Promise<T>): Promise<T> => {
  const own = process.env;
  process.env = variables;
  try {
    return await run();
  } finally {
    process.env = own;
  }
};

const isDuration = (ms: number): boolean => Number.isFinite(ms) && ms >= 0;

interface Opened {
  readonly policy: { readonly fenceAfter: number };
  readonly lasts?: number;
  readonly whyNotServed: (item: { readonly machine: string; readonly account: null; readonly region: null }) => unknown;
}

const opened = async (open: () => Promise<Opened>): Promise<Reading> => {
  const { policy, lasts = 1, whyNotServed } = await open();
  return {
    outcome: 'accepted',
    said: [String(whyNotServed({ machine: 'i-0123456789abcdef0', account: null, region: null }))],
    wrong: [
      ...(isDuration(policy.fenceAfter) ? [] : [`accepts fenceAfter ${policy.fenceAfter}`]),
      ...(isDuration(lasts) && lasts > 0 ? [] : [`accepts a time limit of ${lasts} ms`]),
    ],
  };
};

/** One request to a function on Google Cloud, whose time limit is in the environment. */
const requested = async (): Promise<Reading> => {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const said: string[] = [];
  const end = response.end.bind(response);
  response.end = (chunk: unknown) => {
    said.push(String(chunk));
    return end();
  };
  const lines: unknown[] = [];
  const own = console.log;
  console.log = (line: unknown) => void lines.push(line);
  const lasts: number[] = [];
  try {
    await httpFunction(async (_, limit) => {
      lasts.push(limit.getRemainingTimeInMillis());
      return { status: 204 };
    })({ headers: {} }, response);
  } finally {
    console.log = own;
  }
  return {
    outcome: `status ${response.statusCode}`,
    said: [...said, ...lines.map(String)],
    wrong: lasts.filter((ms) => !isDuration(ms)).map((ms) => `runs with a time limit of ${ms} ms`),
  };
};

const readings: Readonly<Record<string, () => Promise<Reading>>> = {
  aws: () => opened(onAws()),
  azure: () => opened(onAzure()),
  gcp: () => opened(onGcp()),
};

/** The settings of the CLI. No cloud is open yet. */
const byHand = async (): Promise<Reading> => {
  const { clusters } = await loadSettings(readEnvironment());
  return { outcome: 'accepted by the CLI', said: clusters.map(({ name }) => name) };
};

export const environmentReaders: readonly Reader[] = [
  {
    name: 'environment',
    share: 150,
    takes: 'json',
    turns: [0, 1, 2],
    read: (damage: Damage) => {
      const cloud = clouds[damage.sample % clouds.length] ?? '';
      const variables = variablesIn(decoded(damaged(samples, damage, SECRETS)), cloud);
      const reading = [readings[cloud] ?? byHand, byHand, requested][damage.turn % 3] ?? byHand;
      return withVariables(variables, reading);
    },
  },
];
