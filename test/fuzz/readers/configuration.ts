import { inspect } from 'node:util';
import { stringify } from 'yaml';
import { linkFromText } from '../../../app/connect-cluster.ts';
import { parseConfiguration } from '../../../config/configuration-text.ts';
import { policyOf } from '../../../config/schema.ts';
import { linkFromKubeConfigs } from '../../../kubernetes/access.ts';
import { createConnection, callClock } from '../../../kubernetes/connection.ts';
import { readNode } from '../../../kubernetes/node.ts';
import { type Damage, damaged, decoded } from '../damage.ts';
import { CANARY, type Reader, type Reading } from '../judge.ts';

/** Texts that people and deployments write: the configuration and kubeconfigs, as JSON or YAML. */

const configurations = [
  {
    cloud: 'aws',
    region: 'eu-west-1',
    pause: 'until the migration is over',
    shadow: true,
    incidents: 's3://incidents',
    policy: {
      fenceAfter: '90s',
      detach: 'when-stuck',
      deleteNode: 'when-terminated',
      unreachable: 'report',
      optOut: 'pods',
      vouching: 'refused',
      cap: { share: '49%', atOnce: 0.2 },
    },
    clusters: [
      { name: 'blue', eks: { name: 'blue' } },
      { name: 'red', kubeconfig: '/etc/kubeconfig', context: 'red' },
      { name: 'green', secret: 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:k' },
      {
        name: 'inline',
        kubeconfig: `apiVersion: v1\nkind: Config\nusers: [{ name: u, user: { token: ${CANARY} } }]\n`,
      },
    ],
    territories: [
      {
        account: '111122223333',
        region: 'eu-central-1',
        role: 'arn:aws:iam::111122223333:role/fence',
        externalId: 'abcd',
      },
    ],
  },
  { policy: { fenceAfter: '10m' } },
].map((one) => JSON.stringify(one));

/** The damage leaves JSON. Every second input is converted to YAML, if it can still be parsed. */
const asYaml = (text: string): string => {
  try {
    return stringify(JSON.parse(text), { aliasDuplicateObjects: false });
  } catch {
    return text;
  }
};

const written = (samples: readonly string[], damage: Damage): string => {
  const text = decoded(damaged(samples, damage));
  return damage.turn % 2 === 0 || text.length > 100_000 ? text : asYaml(text);
};

const DOUBTS = ['paused', 'shadow'] as const;

const configuration: Reader = {
  name: 'configuration',
  share: 800,
  takes: 'json',
  turns: [0, 1],
  read: (damage) => {
    const read = parseConfiguration(written(configurations, damage), 'cloudfence.yaml');
    const { fenceAfter, cap, ...policy } = policyOf(read, false);
    return {
      outcome: 'accepted',
      said: [JSON.stringify({ ...policy, paused: null })],
      wrong: [
        ...(Number.isFinite(fenceAfter) && fenceAfter >= 0 ? [] : [`accepts fenceAfter ${fenceAfter}`]),
        ...([cap.share, cap.atOnce].every((share) => share >= 0 && share <= 1) ? [] : ['accepts an impossible share']),
        ...DOUBTS.filter((name) => policy[name] === undefined).map((name) => `leaves ${name} undefined`),
      ],
    };
  },
};

/** Nothing listens there, and nothing leaves this process: the local port 9. */
const server = 'https://127.0.0.1:9';

const kubeconfigs = [
  {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'x',
    clusters: [
      { name: 'c', cluster: { server, 'certificate-authority-data': 'Zm9v', 'tls-server-name': 'kubernetes' } },
    ],
    users: [
      {
        name: 'u',
        user: {
          token: CANARY,
          'client-certificate-data': 'Zm9v',
          'client-key-data': 'Zm9v',
          username: 'u',
          password: CANARY,
        },
      },
    ],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'default' } }],
    preferences: {},
  },
  { server, ca: 'PEM', token: CANARY },
].map((one) => JSON.stringify(one));

/** Everything that could be printed about an error, including its causes. */
const inFull = (error: unknown): string => inspect(error, { depth: 20, showHidden: true, maxStringLength: 20_000 });

/** Opens the link and sends one request through it, which gets as far as the socket. */
const requested = async (text: string, turn: number): Promise<Reading> => {
  const link =
    turn % 3 === 0
      ? linkFromKubeConfigs([{ content: text, file: null, fromSecret: true }], null)
      : linkFromText(text, null);
  const connection = createConnection(link, { ...callClock, sleep: async () => undefined }, 1_000);
  const failed: unknown = await readNode(connection.reader(new AbortController().signal), 'n').catch(
    (error: unknown) => error,
  );
  await link.close();
  if (failed instanceof Error) throw failed;
  return { outcome: 'accepted', said: [] };
};

const kubeconfig: Reader = {
  name: 'kubeconfig',
  share: 300,
  takes: 'json',
  // Reads the text as JSON and as YAML, from a file and from a secret.
  turns: [0, 1, 2, 3],
  read: async (damage) => {
    try {
      return await requested(written(kubeconfigs, damage), damage.turn);
    } catch (error) {
      if (inFull(error).includes(CANARY))
        return { outcome: 'leak', said: [], wrong: [`the error holds a canary: ${inFull(error).slice(0, 2_000)}`] };
      throw error;
    }
  },
};

export const configurationReaders: readonly Reader[] = [configuration, kubeconfig];
