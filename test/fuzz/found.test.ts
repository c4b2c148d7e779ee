import { describe, expect, it, vi } from 'vitest';
import { linkFromText } from '../../app/connect-cluster.ts';
import { parseConfiguration } from '../../config/configuration-text.ts';
import { configurationFrom } from '../../config/schema.ts';
import { ClusterUnavailable, InvalidConfiguration, InvalidInput } from '../../fencing/model/errors.ts';
import { readHints as readAwsHints } from '../../providers/aws/events/read-hints.ts';
import { readHints as readAzureHints } from '../../providers/azure/events/read-hints.ts';
import { toCloudfenceError as fromEc2 } from '../../providers/aws/errors.ts';
import { toCloudfenceError as fromArm } from '../../providers/azure/errors.ts';

import type { Cluster } from '../../fencing/model/cluster.ts';
import { makeNode } from '../contract/cluster/harness.ts';
import { clusterOver, faultyCluster } from '../kubernetes/wire.ts';
import { inProcess } from '../sandbox/in-process.ts';

/** Inputs that the fuzzer found, in their shortest form. */

const thrownBy = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (error) {
    return error;
  }
};

describe('the message of an error', () => {
  it('is short, however much is wrong with a configuration', () => {
    const error = thrownBy(() => parseConfiguration(`clusters: [${'{},'.repeat(2_000)}]`, 'cf.yaml'));
    expect(error).toBeInstanceOf(InvalidConfiguration);
    expect(String(error).length).toBeLessThan(20_000);
    expect(String(error)).toContain('more faults');
  });

  it('is short, however long a name in a kubeconfig is', () => {
    const error = thrownBy(() => linkFromText(JSON.stringify({ 'current-context': 'x'.repeat(1_000_000) }), null));
    expect(error).toBeInstanceOf(InvalidConfiguration);
    expect(String(error).length).toBeLessThan(2_000);
  });

  it('is short, whoever wrote it', () => {
    expect(new InvalidInput('x'.repeat(1_000_000)).message.length).toBeLessThan(20_000);
  });
});

const ec2Error = (change: object): Error =>
  Object.assign(new Error('x'), { name: 'Gone', $metadata: { httpStatusCode: 400 }, ...change });

describe('an event', () => {
  const odd = { length: { toString: null } };

  it.each([
    [
      'AWS',
      () =>
        readAwsHints({
          source: 'aws.ec2',
          'detail-type': 'AWS API Call via CloudTrail',
          detail: { eventName: 'StopInstances', requestParameters: { instancesSet: { items: odd } } },
        }),
    ],
    [
      'Azure',
      () =>
        readAzureHints({
          eventType: 'Microsoft.ResourceNotifications.Resources.CreatedOrUpdated',
          data: { resourceInfo: { id: odd } },
        }),
    ],
  ])('with an object without a primitive value as a length is not understood (%s)', (_, read) => {
    expect(read()).toMatchObject({ hints: [], faults: [expect.anything()] });
  });
});

describe('an answer of a cloud', () => {
  it('may contain two messages', () => {
    const error = fromEc2(ec2Error({ message: ['one', 'two'] }), 'ec2:DescribeVolumes');
    expect([error.name, error.message]).toEqual(['Refused', 'ec2:DescribeVolumes returned Gone']);
  });

  it.each([
    ['EC2', fromEc2(ec2Error({ name: 'RangeError', $metadata: { httpStatusCode: 200 } }), 'a call')],
    [
      'ARM',
      fromArm(
        Object.assign(new Error('SyntaxError … a page with anything'), {
          name: 'RestError',
          code: 'PARSE_ERROR',
          statusCode: 200,
        }),
        'a call',
      ),
    ],
  ])('that cannot be read is not quoted (%s)', (_, error) => {
    expect([error.name, error.message]).toEqual(['Unavailable', 'a call returned an answer that cannot be read']);
  });
});

describe('a configuration', () => {
  it('of megabytes is rejected before it is parsed', () => {
    const error = thrownBy(() => parseConfiguration('{]\n'.repeat(1_000_000), 'cf.yaml'));
    expect(String(error)).toContain('cf.yaml: has 3000000 characters');
  });

  it('with an object as a key is rejected, and the parser does not print it', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
    const error = thrownBy(() => parseConfiguration('policy:\n  ? { token: secret-token }\n  : 1\n', 'cf.yaml'));
    expect(error).toBeInstanceOf(InvalidConfiguration);
    expect(warn.mock.calls).toEqual([]);
    warn.mockRestore();
  });

  const kubeconfig = 'apiVersion: v1\nkind: Config\nusers: [{ name: u, user: { token: secret-token } }]\n';

  it.each([
    ['the name of two clusters', { clusters: [1, 2].map(() => ({ name: kubeconfig, kubeconfig: 'x' })) }],
    ['a duration', { policy: { fenceAfter: kubeconfig } }],
    ['a key', { [kubeconfig]: 1, 's-1-secret-token': 2 }],
  ])('with a kubeconfig as %s is rejected without its token', (_, settings) => {
    const error = thrownBy(() => configurationFrom(settings, 'cf.yaml'));
    expect(error).toBeInstanceOf(InvalidConfiguration);
    expect(String(error)).not.toContain('secret-token');
  });

  it.each([
    ['text', { pause: { length: { toString: null } } }],
    ['name', { clusters: [{ name: { length: { valueOf: 1, toString: 1 } }, kubeconfig: 'x' }] }],
  ])('with an object without a primitive value as the length of a %s is rejected', (_, settings) => {
    expect(thrownBy(() => configurationFrom(settings, 'cf.yaml'))).toBeInstanceOf(InvalidConfiguration);
  });
});

it('a kubeconfig whose context has no text as its name is rejected', () => {
  const contexts = [{ name: 'x', context: { cluster: { toString: null }, user: 'u' } }];
  const error = thrownBy(() => linkFromText(JSON.stringify({ 'current-context': 'x', contexts }), null));
  expect(error).toBeInstanceOf(InvalidConfiguration);
});

it('a kubeconfig whose server name for TLS is a list is rejected', () => {
  const cluster = { server: 'https://127.0.0.1:9', 'tls-server-name': ['x'] };
  const kubeconfig = {
    'current-context': 'x',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  };
  expect(thrownBy(() => linkFromText(JSON.stringify(kubeconfig), null))).toBeInstanceOf(InvalidConfiguration);
});

describe('an answer of Kubernetes', () => {
  it('without a field that each object has means a cluster that cannot be read', async () => {
    const empty = clusterOver(async () => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ items: [{ metadata: { name: 'a' } }], metadata: {} }),
    }));
    const error: unknown = await empty
      .suspects(60_000, new AbortController().signal)
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ClusterUnavailable);
    expect(String(error)).toContain('returned an answer that cannot be read');
  });

  it.each([
    ['an object', (cluster: Cluster, signal: AbortSignal) => cluster.identify('node-1', signal)],
    ['an entry of a list', (cluster: Cluster, signal: AbortSignal) => cluster.suspects(60_000, signal)],
  ])('with an object in place of the name of %s means a cluster that cannot be read', async (_, read) => {
    const stage = faultyCluster({});
    await makeNode(stage, { name: 'node-1' });
    const answers = inProcess(stage.server);
    const odd = clusterOver(async (...request) => {
      const answer = await answers(...request);
      return { ...answer, body: answer.body.replace(/"name":("node-\d+")/, '"name":{"name":$1}') };
    });
    const error: unknown = await read(odd, new AbortController().signal).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ClusterUnavailable);
    expect(String(error)).toContain('returned an answer that cannot be read');
  });

  it('that is not JSON is not quoted', async () => {
    const page = clusterOver(async () => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: 'secret page',
    }));
    const error: unknown = await page.identify('n', new AbortController().signal).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ClusterUnavailable);
    expect(String(error)).not.toContain('secret');
  });
});
