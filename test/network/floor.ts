import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import pLimit from 'p-limit';
import { z } from 'zod';
import { ADMIN_TOKEN } from '../../sandbox/cluster/api/server.ts';
import type { LiveNetwork } from './live.ts';

/**
 * What a script does that asks no cloud and proves nothing: it sets the taint, and then deletes each pod with grace 0.
 * No remedy that lets Kubernetes move the volumes is faster than a script that deletes several pods at once.
 */

const podList = z.object({
  items: z.array(z.object({ metadata: z.object({ namespace: z.string(), name: z.string() }) })),
});

type Ask = (method: string, path: string, body?: object) => Promise<string>;

const askerAt = ({ url, ca }: LiveNetwork['server'], agent: Agent): Ask => {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json-patch+json' };
  return (method, path, body) =>
    new Promise((resolve, reject) => {
      const sent = request(new URL(path, url), { method, agent, ca, headers }, (response) => resolve(text(response)));
      sent.on('error', reject).end(body && JSON.stringify(body));
    });
};

/** `atOnce`: how many pods the script deletes at the same time. */
export const runScriptWithoutProof = async ({ scene, server }: LiveNetwork, atOnce: number): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  const ask = askerAt(server, agent);
  const node = `/api/v1/nodes/${scene.node}`;
  const value = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoSchedule' };
  const [standing, listed] = await Promise.all([
    ask('GET', node),
    ask('GET', `/api/v1/pods?fieldSelector=spec.nodeName%3D${scene.node}`),
  ]);
  const tainted = standing.includes('"taints"');
  const patch = tainted
    ? { op: 'add', path: '/spec/taints/-', value }
    : { op: 'add', path: '/spec/taints', value: [value] };
  await ask('PATCH', node, [patch]);
  const limit = pLimit(atOnce);
  const pods = podList.parse(JSON.parse(listed)).items;
  const remove = ({ metadata: { namespace, name } }: (typeof pods)[number]): Promise<string> =>
    ask('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}?gracePeriodSeconds=0`);
  await Promise.all(pods.map((pod) => limit(() => remove(pod))));
  agent.destroy();
};
