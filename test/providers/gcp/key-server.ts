import { createSign, generateKeyPairSync } from 'node:crypto';
import { openStandIn } from '../stand-in.ts';

/** An issuer of tokens like Google's, and the server of its public keys. */
export interface KeyServer {
  readonly url: string;
  /** A token with these claims, signed by the key with that ID, whether the server publishes that key or not. */
  readonly token: (claims: object, keyId?: string) => string;
  readonly asked: () => number;
  readonly close: () => Promise<void>;
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const pair = () => generateKeyPairSync('rsa', { modulusLength: 2048 });

export const openKeyServer = async (): Promise<KeyServer> => {
  const keys = { google: pair(), stranger: pair() };
  const body = { google: keys.google.publicKey.export({ type: 'spki', format: 'pem' }) };
  const standIn = await openStandIn(() => ({ body, headers: { 'cache-control': 'public, max-age=3600' } }));
  return {
    url: `${standIn.url}/certs`,
    token: (claims, keyId = 'google') => {
      const header = { alg: 'RS256', typ: 'JWT', kid: keyId === 'forged' ? 'google' : keyId };
      const signed = `${encoded(header)}.${encoded(claims)}`;
      const { privateKey } = keyId === 'google' ? keys.google : keys.stranger;
      return `${signed}.${createSign('RSA-SHA256').update(signed).sign(privateKey, 'base64url')}`;
    },
    asked: () => standIn.asked.length,
    close: standIn.close,
  };
};
