import type { Call } from './call.ts';
import { metadataOnly, wantsMetadataOnly } from './partial.ts';
import { tableOf, wantsTable } from './table.ts';
import { notFound } from './status.ts';
import type { ApiResponse } from './wire.ts';
import { json } from './wire.ts';

export const readOne = ({ server, kind, name, namespace, request }: Call): ApiResponse => {
  const object = server.store.get(kind.resource, name, namespace);
  if (!object) return notFound(kind, name);
  const { resourceVersion } = object.metadata;
  const table = wantsTable(request) ? tableOf(kind.resource, [object], { resourceVersion }, server.now()) : undefined;
  return json(200, table ?? (wantsMetadataOnly(request) ? metadataOnly(object) : object));
};
