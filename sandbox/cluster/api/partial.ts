import type { KubeObject } from '../objects.ts';
import type { ApiRequest } from './wire.ts';

/**
 * What a client gets that asks for metadata only.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#fetching-object-metadata
 */
export const wantsMetadataOnly = (request: ApiRequest): boolean =>
  /;\s*as=PartialObjectMetadata(List)?\b/.test((request.headers['accept'] ?? '').split(',')[0] ?? '');

export const metadataOnly = ({ metadata }: Pick<KubeObject, 'metadata'>): object => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata,
});
