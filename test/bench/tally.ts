import { parseApiPath } from '../../sandbox/cluster/api/call.ts';
import { wantsMetadataOnly } from '../../sandbox/cluster/api/partial.ts';
import type { ApiRequest } from '../../sandbox/cluster/api/wire.ts';

/** The one namespace whose lists grow with the cluster. */
const OF_ALL_NODES = 'kube-node-lease';

const listManner = (request: ApiRequest, namespace: string): string => {
  const query = new URLSearchParams(request.path.split('?', 2)[1]);
  if (query.has('labelSelector')) return ' by label';
  if (query.has('fieldSelector')) return ' of one node';
  if (query.get('limit') === '1') return ', one to count them';
  if (namespace !== '' && namespace !== OF_ALL_NODES) return ' of one namespace';
  return wantsMetadataOnly(request) ? ', page of metadata' : ', page';
};

/** Returns a request in the words of the table: the verb, the resource, and how a list was read. */
export const nameOf = (request: ApiRequest): string => {
  const [path = ''] = request.path.split('?', 1);
  const place = parseApiPath(path);
  if (!place) return `${request.method} ${path}`;
  const { resource } = place.kind;
  if (request.method !== 'GET' || place.name !== '') return `${request.method} ${resource}`;
  return `LIST ${resource}${listManner(request, place.namespace)}`;
};
