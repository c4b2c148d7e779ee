import type { KubeObject } from '../objects.ts';
import type { ApiRequest } from './wire.ts';

/**
 * The response to a client that requests only metadata.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#fetching-object-metadata
 */
export const wantsMetadataOnly = (request: ApiRequest): boolean =>
  /;\s*as=PartialObjectMetadata(List)?\b/.test((request.headers['accept'] ?? '').split(',')[0] ?? '');

export const metadataOnly = ({ metadata }: Pick<KubeObject, 'metadata'>): object => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata,
});
