import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';

/** Google's own description of the Compute Engine API. https://developers.google.com/discovery/v1/reference/apis */

export interface Schema {
  readonly type?: string | undefined;
  readonly format?: string | undefined;
  readonly pattern?: string | undefined;
  readonly enum?: readonly string[] | undefined;
  readonly $ref?: string | undefined;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly additionalProperties?: Schema | undefined;
  readonly items?: Schema | undefined;
  /** Never sent, only returned. */
  readonly readOnly?: boolean | undefined;
  /** Starts with `Required.` if the field has to be sent. */
  readonly description?: string | undefined;
}

export const schema: z.ZodType<Schema> = z.lazy(() =>
  z.object({
    type: z.string().optional(),
    format: z.string().optional(),
    pattern: z.string().optional(),
    enum: z.array(z.string()).optional(),
    $ref: z.string().optional(),
    properties: z.record(z.string(), schema).optional(),
    additionalProperties: schema.optional(),
    items: schema.optional(),
    readOnly: z.boolean().optional(),
    description: z.string().optional(),
  }),
);

const parameter = z.object({
  type: z.string(),
  location: z.enum(['path', 'query']),
  required: z.boolean().default(false),
  pattern: z.string().optional(),
});

const method = z.object({
  id: z.string(),
  httpMethod: z.string(),
  flatPath: z.string(),
  parameters: z.record(z.string(), parameter).default({}),
  request: z.object({ $ref: z.string() }).optional(),
  response: z.object({ $ref: z.string() }).optional(),
});

export type Method = z.infer<typeof method>;

const document = z.object({
  servicePath: z.string(),
  schemas: z.record(z.string(), schema),
  resources: z.record(z.string(), z.object({ methods: z.record(z.string(), method).default({}) })),
});

export type DiscoveryDocument = z.infer<typeof document>;

/**
 * The only place where the tests read this path: CLOUDFENCE_COMPUTE_DISCOVERY, or what .ci/install-google-discovery
 * downloads.
 */
export const discoveryFolder = join(
  process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
  'cloudfence',
  'google-discovery-2.202.0',
);
const file = process.env['CLOUDFENCE_COMPUTE_DISCOVERY'] ?? join(discoveryFolder, 'compute.v1.json');

export const computeDocument = (): DiscoveryDocument => {
  if (!existsSync(file))
    throw new Error(
      `these tests need Google's discovery document, which is not at ${file}: fetch it with .ci/install-google-discovery`,
    );
  return document.parse(JSON.parse(readFileSync(file, 'utf8')));
};
