import { createSign, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

/** A maker of tokens as Google's, and the place where its public keys are had from. */
export interface KeyServer {
  readonly url: string;
  /** A token with these claims, signed by the key of that id, whether or not it is one that the server gives out. */
  readonly token: (claims: object, keyId?: string) => string;
  readonly asked: () => number;
  readonly close: () => void;
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const pair = () => generateKeyPairSync('rsa', { modulusLength: 2048 });

export const openKeyServer = async (): Promise<KeyServer> => {
  const keys = { google: pair(), stranger: pair() };
  let asked = 0;
  const body = JSON.stringify({ google: keys.google.publicKey.export({ type: 'spki', format: 'pem' }) });
  const server = createServer((_, response) => {
    asked += 1;
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'public, max-age=3600' }).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/certs`,
    token: (claims, keyId = 'google') => {
      const signed = `${encoded({ alg: 'RS256', typ: 'JWT', kid: keyId === 'forged' ? 'google' : keyId })}.${encoded(claims)}`;
      const { privateKey } = keyId === 'google' ? keys.google : keys.stranger;
      return `${signed}.${createSign('RSA-SHA256').update(signed).sign(privateKey, 'base64url')}`;
    },
    asked: () => asked,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};
