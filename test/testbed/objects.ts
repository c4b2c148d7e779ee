import { z } from 'zod';

/** The fields of Kubernetes objects that the testbed reads. */

const metadata = z.looseObject({
  name: z.string(),
  namespace: z.string().default(''),
  uid: z.string(),
  deletionTimestamp: z.string().nullish(),
  deletionGracePeriodSeconds: z.number().nullish(),
  annotations: z.record(z.string(), z.string()).default({}),
  labels: z.record(z.string(), z.string()).default({}),
});

const volume = z.looseObject({
  name: z.string(),
  persistentVolumeClaim: z.looseObject({ claimName: z.string() }).nullish(),
  ephemeral: z.looseObject({}).nullish(),
});

const container = z.looseObject({
  name: z.string(),
  image: z.string().default(''),
  lifecycle: z
    .looseObject({ preStop: z.looseObject({ sleep: z.looseObject({ seconds: z.number() }).nullish() }).nullish() })
    .nullish(),
});

export const pod = z.looseObject({
  metadata,
  spec: z.looseObject({
    nodeName: z.string().default(''),
    containers: z.array(container),
    volumes: z.array(volume).default([]),
  }),
  status: z.looseObject({ phase: z.string().default('Pending') }).default({ phase: 'Pending' }),
});
export type Pod = z.infer<typeof pod>;

const taint = z.looseObject({ key: z.string(), effect: z.string() });

export const node = z.looseObject({
  metadata,
  spec: z.looseObject({ taints: z.array(taint).default([]) }),
  status: z.looseObject({
    volumesAttached: z.array(z.looseObject({ name: z.string() })).default([]),
    volumesInUse: z.array(z.string()).default([]),
    conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]),
    nodeInfo: z.looseObject({ bootID: z.string() }),
  }),
});
export type Node = z.infer<typeof node>;

export const claim = z.looseObject({ spec: z.looseObject({ volumeName: z.string().default('') }) });

export const persistentVolume = z.looseObject({
  spec: z.looseObject({
    csi: z.looseObject({ driver: z.string(), volumeHandle: z.string() }).nullish(),
    awsElasticBlockStore: z.looseObject({ volumeID: z.string() }).nullish(),
  }),
});

export const volumeAttachment = z.looseObject({
  metadata,
  spec: z.looseObject({
    nodeName: z.string(),
    source: z.looseObject({ persistentVolumeName: z.string().default('') }),
  }),
  status: z.looseObject({ attached: z.boolean() }),
});

export const lease = z.looseObject({ metadata, spec: z.looseObject({ renewTime: z.string() }) });

export const listOf = <T extends z.ZodType>(item: T) =>
  z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }), items: z.array(item) });

export const watchEvent = z.looseObject({ type: z.string(), object: z.unknown() });
