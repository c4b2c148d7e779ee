import { z } from 'zod';
import { wantsTable } from './table.ts';
import type { ApiRequest, ApiResponse } from './wire.ts';
import { json } from './wire.ts';

/**
 * The same Events in the older format, which `kubectl describe`, `get events`, and `events` read:
 * https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
 */
export const OLDER_EVENTS = {
  name: 'events',
  singularName: 'event',
  namespaced: true,
  kind: 'Event',
  verbs: ['get', 'list'],
  shortNames: ['ev'],
};

const PATH = /^\/api\/v1\/((?:namespaces\/[^/]+\/)?events)$/;

/** The selected fields under their newer names. The sandbox does not store versions of the objects of Events. */
const newerSelector = (selector: string): string =>
  selector
    .split(',')
    .filter((part) => !/^involvedObject\.(?:apiVersion|resourceVersion|fieldPath)=/.test(part))
    .map((part) => part.replace(/^involvedObject\./, 'regarding.'))
    .join(',');

/** Returns the request for the same Events in the newer format, or undefined for any other request. */
export const newerEvents = (request: ApiRequest): ApiRequest | undefined => {
  const [path = '', search = ''] = request.path.split('?', 2);
  const events = PATH.exec(path)?.[1];
  if (events === undefined || request.method !== 'GET') return undefined;
  const query = new URLSearchParams(search);
  const selector = query.get('fieldSelector');
  if (selector !== null) query.set('fieldSelector', newerSelector(selector));
  return { ...request, path: `/apis/events.k8s.io/v1/${events}?${query.toString()}` };
};

const newerList = z.looseObject({
  items: z.array(
    z.looseObject({
      metadata: z.looseObject({ creationTimestamp: z.string() }),
      regarding: z.unknown().optional(),
      note: z.string().optional(),
      reportingController: z.string().optional(),
    }),
  ),
});

/** Converts the answer to the older format. A refusal and a table are the same in both formats. */
export const inOlderShape = (request: ApiRequest, response: ApiResponse): ApiResponse => {
  if (response.status !== 200 || wantsTable(request)) return response;
  const list = newerList.parse(JSON.parse(response.body));
  const items = list.items.map(({ regarding, note, reportingController, ...event }) => ({
    ...event,
    involvedObject: regarding ?? {},
    message: note ?? '',
    source: { component: reportingController ?? '' },
    firstTimestamp: event.metadata.creationTimestamp,
    lastTimestamp: event.metadata.creationTimestamp,
    count: 1,
  }));
  return json(200, { ...list, kind: 'EventList', apiVersion: 'v1', items });
};
