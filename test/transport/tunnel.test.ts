import { createServer, type Agent } from 'node:http';
import { Agent as HttpsAgent, request as secureRequestBy } from 'node:https';
import { connect, type Socket } from 'node:net';
import { HttpsProxyAgent } from 'hpagent';
import { afterEach, describe, expect, it } from 'vitest';
import { ProofExpired, Unavailable } from '../../fencing/model/errors.ts';
import { proof } from '../permits.ts';
import { answered, closeAll, closing, portOf, sent } from './orders.ts';
import { openSlowFront, type SlowFront } from './slow-front.ts';

afterEach(closeAll);

describe('a destructive call through a proxy', () => {
  /** A proxy that opens its tunnel when the test allows it. */
  const behindProxy = async (): Promise<{
    readonly agent: Agent;
    readonly front: SlowFront;
    readonly asked: Promise<void>;
    readonly tunnel: () => void;
    readonly resets: () => number;
  }> => {
    const front = await openSlowFront(
      () => ({ status: 200, body: 'done' }),
      ({ method }) => method === 'POST',
    );
    const asked = Promise.withResolvers<void>();
    const open = Promise.withResolvers<void>();
    let resets = 0;
    const proxy = createServer();
    proxy.on('connect', (request, client: Socket) => {
      asked.resolve();
      client.on('error', ({ code }: NodeJS.ErrnoException) => void (resets += code === 'ECONNRESET' ? 1 : 0));
      const join = (): void => {
        const behind = connect(Number(request.url?.split(':')[1]), '127.0.0.1', () =>
          client.write('HTTP/1.1 200 OK\r\n\r\n'),
        );
        behind.on('error', () => client.destroy());
        behind.pipe(client).pipe(behind);
      };
      void open.promise.then(join);
    });
    const port = await portOf(proxy);
    closing(front, { close: () => (proxy.close(), proxy.closeAllConnections()) });
    const agent = new HttpsProxyAgent({ keepAlive: true, ca: front.cert, proxy: `http://127.0.0.1:${port}` });
    return { agent, front, asked: asked.promise, tunnel: () => open.resolve(), resets: () => resets };
  };

  const order = ({ url }: SlowFront, agent: Agent): Promise<string> => {
    const request = secureRequestBy(`${url}/order`, { method: 'POST', agent });
    const answer = answered(request);
    request.end();
    return answer;
  };

  it('is not sent through a tunnel that is opened too late', async () => {
    const { agent, front, asked, tunnel } = await behindProxy();
    const { permit, end } = proof();
    const failed = sent(permit, ({ through }) => order(front, through(agent)));
    await asked;
    end();
    expect(await failed).toBeInstanceOf(ProofExpired);
    tunnel();
    await expect.poll(() => front.connections()).toBe(1);
    expect(front.arrived()).toEqual([]);
    agent.destroy();
  });

  it('is reset through the tunnel', async () => {
    const { agent, front, tunnel, resets } = await behindProxy();
    tunnel();
    front.holdAnswers();
    const { permit, end } = proof();
    const failed = sent(permit, ({ through }) => order(front, through(agent)));
    await front.holding();
    end();
    expect(await failed).toBeInstanceOf(Unavailable);
    await expect.poll(() => resets()).toBe(1);
    agent.destroy();
  });
});

it('a failed handshake is reported as such', async () => {
  const front = await openSlowFront(
    () => ({ status: 200, body: '' }),
    () => true,
  );
  closing(front);
  const agent = new HttpsAgent();
  const failed = sent(proof().permit, ({ through }) =>
    answered(secureRequestBy(front.url, { method: 'POST', agent: through(agent) }).end()),
  );
  expect(await failed).toMatchObject({ code: expect.stringMatching(/CERT/) });
  expect(front.arrived()).toEqual([]);
});
