import { describe, expect, it } from 'vitest';
import { ClusterUnavailable } from '../../fencing/model/errors.ts';
import type { Cluster } from '../../fencing/model/cluster.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { clusterOver } from './wire.ts';

/** A proxy, a login page, or a load balancer that answers with status 200 and nothing that the API server would say. */

const never = (): AbortSignal => new AbortController().signal;

const bodies = [
  '{}',
  '[]',
  '{"items":[]}',
  '{"kind":"Status","apiVersion":"v1","metadata":{}}',
  '{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":""},"items":[]}',
  '{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"}}',
  '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":""}}',
  '{"__proto__":{"items":[]}}',
  '""',
];

const query = { machine: 'i-1', nodeNames: [], machineOf: () => null };

const asks: Readonly<Record<string, (cluster: Cluster) => Promise<unknown>>> = {
  'the Nodes of a machine': (cluster) => cluster.find(query, never()),
  'one Node': (cluster) => cluster.identify('n', never()),
  'a Node before a step': (cluster) => cluster.recheck('n', never()),
  'a Node with all that is on it': (cluster) =>
    cluster.look({ query, node: 'n', remembered: null, successorsOf: [] }, never()),
  'what a sweep looks at': (cluster) => cluster.suspects(60_000, never()),
  'how many Nodes lost contact': (cluster) => cluster.surveyConnectivity('n', 60_000, query, never()),
  'a place in the ledger': (cluster) =>
    cluster.reserve({ machine: 'i-1', boot: 'b', cap: defaultPolicy.cap, onlyAsked: false }, never()),
  'the fences that are over': (cluster) => cluster.concludeUnless([], Date.now(), never()),
};

describe.each(Object.entries(asks))('a question about %s', (_, ask) => {
  it.each(bodies)('is not answered by %s', async (body) => {
    const sent: string[] = [];
    const cluster = clusterOver(async ({ method }) => {
      sent.push(method);
      return { status: 200, headers: { 'content-type': 'application/json' }, body };
    });
    const error: unknown = await ask(cluster).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ClusterUnavailable);
    expect(String(error)).toContain('returned an answer that cannot be read');
    expect(sent.filter((method) => method !== 'GET')).toEqual([]);
  });
});
