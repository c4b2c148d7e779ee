import type { Call } from './call.ts';
import { metadataOnly, wantsMetadataOnly } from './partial.ts';
import { notFound } from './status.ts';
import type { ApiResponse } from './wire.ts';
import { json } from './wire.ts';

export const readOne = ({ server, kind, name, namespace, request }: Call): ApiResponse => {
  const object = server.store.get(kind.resource, name, namespace);
  if (!object) return notFound(kind, name);
  return json(200, wantsMetadataOnly(request) ? metadataOnly(object) : object);
};
