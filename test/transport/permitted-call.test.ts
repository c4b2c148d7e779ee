import { Agent, request as requestBy } from 'node:http';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ProofExpired, Unavailable } from '../../fencing/model/errors.ts';
import { createConnectionPool } from '../../transport/connections.ts';
import { type PermittedPath, underPermit } from '../../transport/under-permit.ts';
import { granted, proof } from '../permits.ts';
import { answered, closeAll, failure, post, sent, serving } from './orders.ts';

/** What happens to a call when its permit ends, its caller gives up, or its SDK leaves something behind. */

afterEach(closeAll);

const never = (): Promise<never> => new Promise(() => undefined);

const checked = ({ check }: PermittedPath): Promise<never> => {
  check();
  return never();
};

describe('a call without an agent', () => {
  it('is made with a permit that is valid', async () => {
    const call = underPermit({ name: 'the order', permit: granted, signal: undefined }, async ({ check }) => {
      check();
      return 'done';
    });
    expect(await call).toBe('done');
  });

  it('is not made with a permit that has ended by the clock', async () => {
    const { permit, age } = proof();
    const order = vi.fn(async () => 'done');
    const failed = await sent(permit, async ({ check }) => {
      age();
      check();
      return order();
    });
    expect(failed).toMatchObject({ name: 'ProofExpired', message: 'the proof is too old' });
    expect(order).not.toHaveBeenCalled();
  });

  it('is not even begun with a permit that has ended', async () => {
    const { permit, end } = proof();
    end();
    const send = vi.fn(checked);
    expect(await sent(permit, send)).toBeInstanceOf(ProofExpired);
    expect(send).not.toHaveBeenCalled();
  });
});

describe('a call that gets no answer', () => {
  const under = (send: (path: PermittedPath) => Promise<never>) => {
    const { permit, end } = proof();
    const caller = new AbortController();
    const failed = failure(underPermit({ name: 'the order', permit, signal: caller.signal }, send));
    return { failed, end, giveUp: () => caller.abort() };
  };

  it('has been sent if its permit was checked, and its effect is unknown', async () => {
    const byProof = under(checked);
    byProof.end();
    const byCaller = under(checked);
    byCaller.giveUp();
    for (const { failed } of [byProof, byCaller])
      expect(await failed).toMatchObject({
        name: 'Unavailable',
        message: expect.stringContaining('the order got no response while its proof was valid'),
      });
  });

  it('has not been sent if its permit was not checked', async () => {
    const byProof = under(never);
    byProof.end();
    expect(await byProof.failed).toMatchObject({
      name: 'ProofExpired',
      message: expect.stringContaining('got no connection while its proof was valid'),
    });
    const byCaller = under(never);
    byCaller.giveUp();
    expect(await byCaller.failed).toMatchObject({
      name: 'Unavailable',
      message: 'the order was canceled before Cloudfence sent it',
    });
  });
});

describe('the signal of a call', () => {
  it('ends with the reason for which the call ended', async () => {
    const { permit, end } = proof();
    const signals: AbortSignal[] = [];
    const failed = sent(permit, (path) => {
      signals.push(path.signal);
      return checked(path);
    });
    end();
    expect(signals[0]?.reason).toBe(await failed);
    expect(signals[0]?.reason).toBeInstanceOf(Unavailable);
  });

  it('does not end after the call', async () => {
    const { permit, end } = proof();
    const signals: AbortSignal[] = [];
    await sent(permit, async ({ signal }) => {
      signals.push(signal);
      return 'done';
    });
    end();
    expect(signals[0]?.aborted).toBe(false);
  });
});

/** Its connections never open, because no name server answers. */
const waiting = (): Agent => new Agent({ lookup: () => undefined });
const orderTo = (agent: Agent): Promise<string> =>
  answered(requestBy({ host: 'cloud.example', agent, method: 'POST' }).end());

describe('the requests of a call', () => {
  it('use one agent only, however often an SDK asks for it', async () => {
    const agent = new Agent();
    const agents: Agent[] = [];
    await sent(granted, async ({ through }) => {
      const one = through(agent);
      agents.push(one, through(one));
      return 'done';
    });
    const [one, again] = agents;
    expect(one).not.toBe(agent);
    expect(again).toBe(one);
  });

  it('have not been sent if the last one waits for its connection, although an earlier one was answered', async () => {
    const port = await serving((_request, response) => void response.end());
    const agent = new Agent();
    const { permit, end } = proof();
    const asked = Promise.withResolvers<void>();
    const failed = sent(permit, async ({ through }) => {
      await post(port, through(agent));
      const last = orderTo(through(waiting()));
      asked.resolve();
      return last;
    });
    await asked.promise;
    end();
    expect(await failed).toBeInstanceOf(ProofExpired);
    agent.destroy();
  });

  it('fail at once if their SDK abandons them', async () => {
    const left: Promise<unknown>[] = [];
    await sent(proof().permit, ({ through }) => {
      left.push(failure(orderTo(through(waiting()))));
      return Promise.reject(new Error('enough'));
    });
    expect(await left[0]).toMatchObject({ message: 'the order was canceled before Cloudfence sent it' });
  });
});

it('the connections of a client are kept, at most fifty', () => {
  const kept = { maxSockets: 50, options: { keepAlive: true } };
  expect(createConnectionPool()).toMatchObject({ http: kept, https: kept });
});
