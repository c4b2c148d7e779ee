import { z } from 'zod';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import { Refused } from '../../fencing/model/errors.ts';
import { jsonTextSchema } from '../../fencing/model/json-text.ts';
import { requireSuccess, type HttpCall, noAnswerError, type SendCall } from '../../transport/answers.ts';
import { withCloudfenceErrors } from './errors.ts';

/**
 * Signs and sends calls to AWS services for which a single call is sufficient and no SDK is needed. The client of S3
 * alone is larger than a whole function.
 */
export interface SignedCalls {
  readonly region: string;
  readonly credentials: ConstructorParameters<typeof SignatureV4>[0]['credentials'];
  /** URL of one endpoint that replaces all services, for tests and emulators. Null for the services' own endpoints. */
  readonly endpoint: string | null;
}

/** The domains of the partitions that have their own, by the beginning of their regions' names. */
const DOMAINS: Readonly<Record<string, string>> = { cn: 'amazonaws.com.cn', eusc: 'amazonaws.eu' };

/** Returns the host of a service in the region. */
export const serviceHost = (service: string, region: string): string =>
  `${service}.${region}.${DOMAINS[region.split('-')[0] ?? ''] ?? 'amazonaws.com'}`;

/** Returns the address of a service in the region, or the endpoint that replaces it. */
export const serviceUrl = (service: string, { region, endpoint }: SignedCalls): string =>
  endpoint ?? `https://${serviceHost(service, region)}`;

const signed = (
  service: string,
  { region, credentials }: SignedCalls,
  { method, url, headers, body, name }: HttpCall,
) =>
  withCloudfenceErrors(`${name} (signing)`, () => {
    const { protocol, hostname, host, port, pathname, searchParams } = new URL(url);
    // S3 signs the path exactly as it is sent:
    // https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
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
      throw noAnswerError(caught, call);
    }
  };

/** https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsRequestEntry.html */
interface BusEvent {
  readonly Source: string;
  readonly DetailType: string;
  readonly Resources: readonly string[];
  /** Epoch s. */
  readonly Time: number;
  /** JSON. */
  readonly Detail: string;
}

export type PutEvent = (event: BusEvent, signal: AbortSignal) => Promise<void>;

/** The bus accepts a list of events and answers for each of them, so the HTTP status alone is not sufficient. */
const busAnswer = jsonTextSchema.pipe(z.object({ FailedEntryCount: z.literal(0) }));

/**
 * Returns a function that puts one event on the default bus of the region.
 * https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
 *
 * @throws PermissionDenied, Unavailable, Refused
 */
export const putEventOn =
  (options: SignedCalls): PutEvent =>
  async (event, signal) => {
    const call: HttpCall = {
      method: 'POST',
      url: `${serviceUrl('events', options)}/`,
      name: 'events:PutEvents',
      headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'AWSEvents.PutEvents' },
      body: JSON.stringify({ Entries: [event] }),
    };
    const { text } = requireSuccess(await createSignedCall('events', options)(call, signal), call);
    if (!busAnswer.safeParse(text).success) throw new Refused('events:PutEvents did not accept the event');
  };
