import { expect, it } from 'vitest';
import { accountToken } from '../../kubernetes/account-token.ts';
import { openConnection } from '../../kubernetes/cluster.ts';
import { transportLink } from '../../kubernetes/exchange.ts';
import { FENCE_TOKEN } from '../contract/cluster/sandbox-harness.ts';
import { unhurried } from '../contract/cluster/harness.ts';
import { patientClock } from './wire.ts';

/** The token that `cloudfence kubeconfig` writes into a kubeconfig. A controller of Kubernetes fills its Secret. */

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** The Secret as each further read shows it. */
const secretThatShows = (reads: readonly Readonly<Record<string, string>>[]) => {
  let nth = 0;
  const link = transportLink(async () => {
    const data = reads[Math.min(nth, reads.length - 1)];
    nth += 1;
    const secret = {
      kind: 'Secret',
      apiVersion: 'v1',
      metadata: { name: 'cloudfence-token', resourceVersion: '1' },
      data,
    };
    return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(secret) };
  }, FENCE_TOKEN);
  return accountToken(openConnection({ name: 'c', link, clock: patientClock() }), unhurried());
};

/** https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#token-controller */
it('a token is complete only with the certificate authority of its API server', async () => {
  const token = { token: base64('t-1') };
  const read = secretThatShows([{}, {}, token, { ...token, 'ca.crt': base64('PEM') }]);
  expect(await read).toEqual({ token: 't-1', ca: 'PEM' });
});

it('a Secret to which Kubernetes adds no token is an error after ten seconds', async () => {
  await expect(secretThatShows([{}])).rejects.toThrow(/^Kubernetes adds no token to the Secret/);
});
