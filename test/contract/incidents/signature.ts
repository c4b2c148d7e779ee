import { createHash, createHmac } from 'node:crypto';
import type { Request } from '../../providers/stand-in.ts';

/**
 * Whether a request is signed with this secret, as S3 computes it: the path as it was sent, and all parts of the query.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 */

const SIGNED = /^AWS4-HMAC-SHA256 Credential=[^/]+\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const keyed = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);

const canonicalQuery = (query: URLSearchParams): string =>
  [...query]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');

const canonicalRequest = ({ method, url, headers }: Request, signedHeaders: string): string => {
  const [path = '', query = ''] = url.split('?');
  const lines = signedHeaders.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`);
  const content = String(headers['x-amz-content-sha256']);
  return [method, path, canonicalQuery(new URLSearchParams(query)), lines.join(''), signedHeaders, content].join('\n');
};

export const isSignedWith = (secret: string, request: Request): boolean => {
  const [, scope = '', signedHeaders = '', signature] = SIGNED.exec(request.authorization ?? '') ?? [];
  const date = String(request.headers['x-amz-date']);
  const toSign = ['AWS4-HMAC-SHA256', date, scope, hash(canonicalRequest(request, signedHeaders))].join('\n');
  const key = scope.split('/').reduce<string | Buffer>(keyed, `AWS4${secret}`);
  return keyed(key, toSign).toString('hex') === signature;
};
