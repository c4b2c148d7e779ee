import { ObjectSerializer } from '@kubernetes/client-node/dist/gen/models/ObjectSerializer.js';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadFunctionSettings } from '../../config/settings.ts';
import { withEnvironment } from '../cli/run-cli.ts';
import { bundleFunction } from '../../infra/serverless/bundle.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const bundled = z.object({
  ObjectSerializer: z.custom<typeof ObjectSerializer>((value) => typeof value === 'function'),
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-bundle-'));
});
afterEach(() => rm(folder, { recursive: true }));

const at = '2026-11-21T12:00:00Z';
const metadata = {
  name: 'n',
  creationTimestamp: at,
  ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' }],
};
const objects = {
  V1Node: {
    metadata,
    spec: { taints: [{ key: 'k', effect: 'NoSchedule', timeAdded: at }] },
    status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: at }] },
  },
  V1Pod: {
    metadata,
    status: {
      startTime: at,
      containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 0, finishedAt: at } } }],
    },
  },
  V1Lease: { metadata, spec: { renewTime: '2026-11-21T12:00:00.000001Z' } },
  V1VolumeAttachment: { metadata, status: { attached: true, detachError: { message: 'm', time: at } } },
  V1CSINode: { metadata, spec: { drivers: [{ name: 'd', nodeID: 'i', allocatable: { count: 1 } }] } },
  V1SelfSubjectAccessReview: { metadata, status: { allowed: true } },
  EventsV1Event: { metadata, eventTime: '2026-11-21T12:00:00.000001Z' },
};

describe('a bundle of models', () => {
  let slim: z.infer<typeof bundled>;
  beforeAll(async () => {
    const once = await mkdtemp(path.join(tmpdir(), 'cloudfence-models-'));
    await bundleFunction(root, 'test/infra/entries/models.ts', once);
    slim = bundled.parse(createRequire(import.meta.url)(path.join(once, 'index.js')));
    return () => rm(once, { recursive: true });
  });

  it.each(Object.entries(objects))('reads a %s as the whole client does', (type, object) => {
    const read: unknown = slim.ObjectSerializer.deserialize(object, type, '');
    expect(JSON.stringify(read)).toBe(JSON.stringify(ObjectSerializer.deserialize(object, type, '')));
    expect(JSON.stringify(read)).not.toBe(JSON.stringify(object));
  });
});

describe('a bundle of schemas', () => {
  const schemas = z.object({
    loadFunctionSettings: z.custom<typeof loadFunctionSettings>((value) => typeof value === 'function'),
  });
  let slim: z.infer<typeof schemas>;
  beforeAll(async () => {
    const once = await mkdtemp(path.join(tmpdir(), 'cloudfence-schemas-'));
    await bundleFunction(root, 'config/settings.ts', once);
    slim = schemas.parse(createRequire(import.meta.url)(path.join(once, 'index.js')));
    return () => rm(once, { recursive: true });
  });

  it.each([
    {},
    { cloud: 'aws', policy: { fenceAfter: '90s', cap: { share: '40%' } }, clusters: [{ name: 'a', secret: 's' }] },
    {
      policy: { detach: 'maybe', cap: { nodes: 3 } },
      clusters: [{ name: 'a' }],
      territories: [{ account: 1 }],
      more: 1,
    },
  ])('reads %j as the source does', async (settings) => {
    const said = (load: typeof loadFunctionSettings) =>
      withEnvironment({ CLOUDFENCE_SETTINGS: JSON.stringify(settings) }, () =>
        load().catch((error: unknown) => (error instanceof Error ? error.message : error)),
      );
    expect(await said(slim.loadFunctionSettings)).toEqual(await said(loadFunctionSettings));
  });
});

describe('a bundle', () => {
  it('is rejected for an API whose models it would lack', async () => {
    await expect(bundleFunction(root, 'test/infra/entries/unnamed-api.ts', folder)).rejects.toThrow(
      'NetworkingV1Api is bundled without its models',
    );
  });

  it('calls Kubernetes without undici, and contains no drill', async () => {
    await bundleFunction(root, 'app/open-clusters.ts', folder);
    const part = (await readdir(folder)).find((name) => name.startsWith('connect-cluster-')) ?? 'none';
    const code = (await readFile(path.join(folder, part), 'utf8')).toLowerCase();
    expect(['llhttp', 'undici.error', 'cloudfence-drill'].filter((trace) => code.includes(trace))).toEqual([]);
  });
});
