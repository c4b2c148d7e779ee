import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import type { Change } from './changes.ts';
import { changeIn } from './changes.ts';
import type { Forward, Handling, GateRequest } from './gate.ts';
import { openGateOn } from './gate.ts';
import { certificate, kubeconfigOf } from '../../testbed/identities.ts';
import type { TestbedAccess } from '../../testbed/installation.ts';
import { storeSecret } from '../../testbed/installation.ts';

/** A request that reached a gate. */
export interface GateTraffic {
  readonly passing: GateRequest;
  readonly change: Change | null;
  /** Mono ms. */
  readonly at: number;
  /** The answer of the server, whether it arrived or not. Null while the server has not answered, or was not asked. */
  status: number | null;
}

/** Gates in front of the API server and EC2, for one or several runs of Cloudfence. All requests pass through them. */
export interface Gates {
  /** The testbed, reached through the gates. */
  readonly access: TestbedAccess;
  readonly seen: readonly GateTraffic[];
  /** How requests are handled from now on. By default, each request is forwarded. */
  readonly handle: (handling: Handling) => void;
  readonly close: () => Promise<void>;
}

const HEADERS = ['authorization', 'accept', 'content-type', 'x-amz-target'] as const;

const forwardTo =
  (url: string, dispatcher: Agent): Forward =>
  async ({ method, path, body }, headers) => {
    const kept = HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]] as const]));
    const known = (['GET', 'POST', 'PATCH', 'DELETE'] as const).find((name) => name === method);
    if (!known) throw new Error(`nobody uses ${method}`);
    const answer = await request(`${url}${path}`, {
      method: known,
      headers: Object.fromEntries(kept),
      dispatcher,
      ...(body !== '' && { body }),
    });
    return {
      status: answer.statusCode,
      headers: { 'content-type': String(answer.headers['content-type'] ?? '') },
      body: await answer.body.text(),
    };
  };

let count = 0;

const passOn: Handling = (_, forward) => forward();

/** `heed` gets each request once its server has answered, before the caller gets the answer. */
export const openGates = async (
  testbed: TestbedAccess,
  heed: (seen: GateTraffic) => Promise<void> = async () => undefined,
): Promise<Gates> => {
  const { cert, private: key } = await certificate();
  const seen: GateTraffic[] = [];
  let handling = passOn;
  const handle: Handling = async (passing, forward) => {
    const entry: GateTraffic = { passing, change: changeIn(passing), at: performance.now(), status: null };
    seen.push(entry);
    return handling(passing, async () => {
      const answer = await forward();
      entry.status = answer.status;
      await heed(entry);
      return answer;
    });
  };
  const dispatcher = new Agent({ connect: { ca: testbed.ca } });
  const api = await openGateOn(createTlsServer({ cert, key }), 'api', forwardTo(testbed.server, dispatcher), handle);
  const ec2 = await openGateOn(createServer(), 'ec2', forwardTo(testbed.ec2.endpoint, dispatcher), handle);
  return {
    access: await throughGates(testbed, `https://127.0.0.1:${api.port}`, cert, `http://127.0.0.1:${ec2.port}`),
    seen,
    handle: (other) => (handling = other),
    close: async () => {
      api.close();
      ec2.close();
      await dispatcher.destroy();
    },
  };
};

const throughGates = async (
  testbed: TestbedAccess,
  server: string,
  ca: string,
  endpoint: string,
): Promise<TestbedAccess> => {
  const name = `gates-${process.pid}-${(count += 1)}`;
  const kubeconfig = join(testbed.folder, `${name}.kubeconfig`);
  const text = kubeconfigOf(server, ca, testbed.tokens.cloudfence);
  await Promise.all([writeFile(kubeconfig, text, { mode: 0o600 }), storeSecret(testbed.aws, name, text)]);
  return {
    ...testbed,
    server,
    ca,
    secret: name,
    ec2: { ...testbed.ec2, endpoint },
    kubeconfigs: { ...testbed.kubeconfigs, cloudfence: kubeconfig },
  };
};
