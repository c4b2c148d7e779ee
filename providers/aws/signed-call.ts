import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import { noAnswer, type HttpCall, type SendCall } from '../http-answer.ts';
import { withCloudfenceErrors } from './errors.ts';

/**
 * Signs and sends a call to the AWS services for which one call is enough and no SDK is needed. The client of S3 alone
 * is larger than a whole function.
 */
export interface SignedCalls {
  readonly region: string;
  readonly credentials: ConstructorParameters<typeof SignatureV4>[0]['credentials'];
  /** URL of one endpoint for all services, for tests and emulators. Null for the services' own. */
  readonly endpoint: string | null;
}

/** Returns the address of a service in the region, or the endpoint that replaces it. */
export const serviceUrl = (service: string, { region, endpoint }: SignedCalls): string =>
  endpoint ?? `https://${service}.${region}.${region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'}`;

const signed = (
  service: string,
  { region, credentials }: SignedCalls,
  { method, url, headers, body, name }: HttpCall,
) =>
  withCloudfenceErrors(`${name} (signing)`, () => {
    const { protocol, hostname, host, port, pathname, searchParams } = new URL(url);
    // S3 signs the path as it is sent: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
    const signer = new SignatureV4({ credentials, region, service, sha256: Sha256, uriEscapePath: service !== 's3' });
    return signer.sign({
      method,
      protocol,
      hostname,
      ...(port !== '' && { port: Number(port) }),
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers: { ...headers, host },
      ...(body !== undefined && { body }),
    });
  });

/** Returns a function that calls one service. The call is sent once. */
export const createSignedCall =
  (service: string, options: SignedCalls): SendCall =>
  async (call, signal) => {
    const { headers } = await signed(service, options, call);
    const { method, url, body } = call;
    try {
      const response = await fetch(url, {
        method,
        headers,
        signal,
        // A signed request never follows a redirect.
        redirect: 'manual',
        ...(body !== undefined && { body }),
      });
      return { status: response.status, header: (name) => response.headers.get(name), text: await response.text() };
    } catch (caught) {
      throw noAnswer(caught, call);
    }
  };
