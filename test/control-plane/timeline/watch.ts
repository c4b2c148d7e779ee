import { setTimeout as delay } from 'node:timers/promises';
import { DescribeVolumesCommand, EC2Client } from '@aws-sdk/client-ec2';
import type { z } from 'zod';
import type { Testbed } from '../../testbed/testbed-at.ts';
import { listOf, pod, volumeAttachment, watchEvent } from '../../testbed/objects.ts';
import type { Crash } from './crash.ts';
import type { PhaseEvent } from './phases.ts';

/** The observers of one crash: at the API server by watches, at EC2 by polling. */
export interface Watch {
  readonly seen: readonly PhaseEvent[];
  readonly close: () => Promise<void>;
}

const ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments';

interface WatchedEvent<T> {
  readonly at: number;
  readonly gone: boolean;
  readonly object: T;
}

const follow = async <T>(
  testbed: Testbed,
  path: string,
  schema: z.ZodType<T>,
  heed: (onEvent: WatchedEvent<T>) => void,
  signal: AbortSignal,
): Promise<void> => {
  const { metadata } = listOf(schema).parse(await testbed.admin.get(path));
  const look = async (): Promise<void> => {
    for await (const line of testbed.admin.watch(
      `${path}?watch=1&resourceVersion=${metadata.resourceVersion}`,
      signal,
    )) {
      const at = performance.now();
      const { type, object } = watchEvent.parse(line);
      heed({ at, gone: type === 'DELETED', object: schema.parse(object) });
    }
    throw new Error(`the watch of ${path} ended`);
  };
  return look();
};

/** Directly at moto, so that the proxies in front of it have the same load as without an observer. */
const askEc2 = async (
  { access: { aws, ec2 } }: Testbed,
  disk: string,
  everyMs: number,
  heed: (holder: string | null, at: number) => void,
  signal: AbortSignal,
): Promise<void> => {
  const client = new EC2Client({
    endpoint: aws.endpoint,
    region: ec2.region,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  while (!signal.aborted) {
    const { Volumes } = await client.send(new DescribeVolumesCommand({ VolumeIds: [disk] }));
    heed(Volumes?.[0]?.Attachments?.[0]?.InstanceId ?? null, performance.now());
    await delay(everyMs);
  }
  client.destroy();
};

/** An observer that was stopped has succeeded. One that failed has not. */
const unlessTold = (looking: Promise<void>, signal: AbortSignal): Promise<void> =>
  looking.catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });

export const watchRecovery = ({ scene: { testbed, namespace }, disk, volume }: Crash, askEc2EveryMs: number): Watch => {
  const seen: PhaseEvent[] = [];
  const closing = new AbortController();
  const { signal } = closing;
  const heedPod = ({ at, gone, object: { metadata, spec, status } }: WatchedEvent<z.infer<typeof pod>>): void =>
    void seen.push({
      of: 'pod',
      at,
      uid: metadata.uid,
      node: spec.nodeName,
      gone,
      running: status.phase === 'Running',
    });
  const heedAttachment = ({
    at,
    gone,
    object: { metadata, spec, status },
  }: WatchedEvent<z.infer<typeof volumeAttachment>>): void => {
    if (spec.source.persistentVolumeName !== volume) return;
    seen.push({
      of: 'attachment',
      at,
      node: spec.nodeName,
      gone,
      deleting: gone || metadata.deletionTimestamp != null,
      attached: status.attached && !gone,
    });
  };
  const listeners = [
    follow(testbed, `/api/v1/namespaces/${namespace}/pods`, pod, heedPod, signal),
    follow(testbed, ATTACHMENTS, volumeAttachment, heedAttachment, signal),
    askEc2(testbed, disk, askEc2EveryMs, (holder, at) => void seen.push({ of: 'disk', at, holder }), signal),
  ].map((looking) => unlessTold(looking, signal));
  const all = Promise.all(listeners);
  all.catch(() => undefined);
  return {
    seen,
    close: async () => {
      closing.abort();
      await all;
    },
  };
};
