import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { functionEnvironment } from '../../../infra/gcp/install.ts';
import { bundleFunction } from '../../../infra/serverless/bundle.ts';
import { openKeyServer, type KeyServer } from '../../providers/gcp/key-server.ts';
import { openStandIn, type StandIn } from '../../providers/stand-in.ts';
import { installWith } from './installed.ts';

/** on-event from its bundle, in a process that knows only the environment with which it is deployed. */

const program = fileURLToPath(new URL('../../bench/function-process.cjs', import.meta.url));
const install = installWith();
const AUDIENCE = install.names.address('on-event');
const answered = z.object({ answer: z.object({ status: z.number() }) });
const published = z.object({
  messages: z.array(z.object({ data: z.string(), attributes: z.record(z.string(), z.string()) })),
});

let folder: string;
let keys: KeyServer;
let pubSub: StandIn;
const topics: { readonly topic: string; readonly said: z.infer<typeof published> }[] = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-on-event-'));
  await bundleFunction(fileURLToPath(new URL('../../..', import.meta.url)), 'functions/gcp/on-event.ts', folder);
  keys = await openKeyServer();
  pubSub = await openStandIn(({ url, body }) => {
    topics.push({ topic: url, said: published.parse(JSON.parse(String(body))) });
    return { body: { messageIds: ['1'] } };
  });
}, 120_000);
afterAll(async () => {
  await Promise.all([keys.close(), pubSub.close(), rm(folder, { recursive: true })]);
});

const claims = () => ({
  iss: 'https://accounts.google.com',
  aud: AUDIENCE,
  email: install.names.caller,
  email_verified: true,
  iat: Math.floor(Date.now() / 1_000) - 60,
  exp: Math.floor(Date.now() / 1_000) + 3_000,
});
const stripped = (token: string): string => token.replace(/\.[^.]+$/, '.SIGNATURE_REMOVED_BY_GOOGLE');

const push = async (token: string): Promise<number> => {
  const event = {
    headers: { authorization: `Bearer ${token}` },
    body: {
      message: { data: Buffer.from('{"hello": "world"}').toString('base64'), messageId: '1' },
      subscription: 's',
    },
  };
  const env = {
    ...functionEnvironment(install, 'on-event'),
    CLOUDFENCE_GCP_ENDPOINT: pubSub.url,
    CLOUDFENCE_CERTIFICATES_URL: keys.url,
  };
  const child = fork(program, [path.join(folder, 'index.js'), JSON.stringify(event), 'http'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  const [message]: unknown[] = await once(child, 'message');
  await ended;
  return answered.parse(message).answer.status;
};

it.each([
  ['whose signature Cloud Run has verified', () => stripped(keys.token(claims()))],
  ['that it verifies itself', () => keys.token(claims())],
])('accepts a push with a token %s, and publishes an unreadable message with the reason', async (_, token) => {
  topics.splice(0);
  expect(await push(token())).toBe(204);
  expect(topics).toMatchObject([
    {
      topic: `/v1/${install.names.topic('dead-letters')}:publish`,
      said: {
        messages: [
          {
            data: Buffer.from('{"hello": "world"}').toString('base64'),
            attributes: { reason: expect.stringMatching(/not an event/) },
          },
        ],
      },
    },
  ]);
});

it.each([
  ['signed by another party', () => keys.token(claims(), 'forged')],
  ['of another account', () => stripped(keys.token({ ...claims(), email: 'somebody@example.org' }))],
])('rejects a push with a token %s', async (_, token) => {
  topics.splice(0);
  expect(await push(token())).toBe(403);
  expect(topics).toEqual([]);
});
