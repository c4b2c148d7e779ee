import {
  bearerTokenAuthenticationPolicy,
  createDefaultHttpClient,
  createHttpHeaders,
  createPipelineFromOptions,
  createPipelineRequest,
} from '@azure/core-rest-pipeline';
import { z } from 'zod';
import type { Announcement } from '../../incidents/announcement.ts';
import type { ObjectStore, TellingKeeper } from '../../incidents/store.ts';
import { requireSuccess, noAnswerError, type HttpCall, type SendCall } from '../../transport/answers.ts';
import { createObjectList, listedObject, createObjectStore, matchHeaders } from '../object-store.ts';
import { withReadableProxy } from './client.ts';
import type { RestOptions } from './rest.ts';

/** Stores incidents in a blob container, and sends messages about them to an Event Grid topic. */

export interface IncidentPlaces {
  /** URL of the container. */
  readonly container: string;
  /** URL of the topic's endpoint, or null. */
  readonly topic: string | null;
}

const STORAGE = 'https://storage.azure.com/.default';
const EVENT_GRID = 'https://eventgrid.azure.net/.default';

/**
 * A version that supports tokens of Microsoft Entra:
 * https://learn.microsoft.com/rest/api/storageservices/authorize-with-azure-active-directory
 */
const STORAGE_VERSION = '2023-11-03';

/** Over plain HTTP, no token is sent. Returns answers with any status. */
const sendTo =
  (scope: string, { credential, httpClient }: RestOptions): SendCall =>
  async (call, signal) => {
    const { method, url, headers, body } = call;
    const overTls = !url.startsWith('http://');
    const pipeline = withReadableProxy(() =>
      createPipelineFromOptions({
        // A repeated write would conflict with its own first attempt.
        retryOptions: { maxRetries: method === 'GET' ? 1 : 0, retryDelayInMs: 200 },
        userAgentOptions: { userAgentPrefix: 'cloudfence' },
      }),
    );
    pipeline.removePolicy({ name: 'redirectPolicy' });
    if (overTls) pipeline.addPolicy(bearerTokenAuthenticationPolicy({ credential, scopes: scope }), { phase: 'Sign' });
    const request = createPipelineRequest({
      method,
      url,
      headers: createHttpHeaders(headers),
      abortSignal: signal,
      allowInsecureConnection: !overTls,
      ...(body !== undefined && { body }),
    });
    try {
      const answer = await pipeline.sendRequest(httpClient ?? createDefaultHttpClient(), request);
      return {
        status: answer.status,
        header: (name) => answer.headers.get(name) ?? null,
        text: answer.bodyAsText ?? '',
      };
    } catch (caught) {
      throw noAnswerError(caught, call);
    }
  };

/** https://learn.microsoft.com/azure/event-grid/cloud-event-schema */
const cloudEventOf = (announcement: Announcement): object => ({
  specversion: '1.0',
  id: announcement.id,
  source: 'cloudfence',
  type: `cloudfence.${announcement.about}`,
  subject: announcement.machine,
  time: announcement.at,
  datacontenttype: 'application/json',
  data: announcement,
});

const tellTopic = async (
  topic: string,
  announcement: Announcement,
  options: RestOptions,
  signal: AbortSignal,
): Promise<void> => {
  const call: HttpCall = {
    method: 'POST',
    url: `${topic}?api-version=2018-01-01`,
    name: 'Microsoft.EventGrid/events/send/action',
    headers: { 'content-type': 'application/cloudevents-batch+json; charset=utf-8' },
    body: JSON.stringify([cloudEventOf(announcement)]),
  };
  requireSuccess(await sendTo(EVENT_GRID, options)(call, signal), call);
};

/** An empty element has no children. Any page may be empty, and only the last page contains no marker. */
const listPage = z
  .object({
    Blobs: z.union([
      z.literal('').transform(() => []),
      z
        .object({
          Blob: z.array(z.object({ Name: z.string(), Properties: z.object({ 'Last-Modified': z.string() }) })),
        })
        .transform(({ Blob }) => Blob),
    ]),
    NextMarker: z.string(),
  })
  .transform(({ Blobs, NextMarker }) => ({
    objects: Blobs.map(({ Name, Properties }) => listedObject(Name, Properties['Last-Modified'])),
    next: NextMarker === '' ? null : NextMarker,
  }));

const BLOBS = 'Microsoft.Storage/storageAccounts/blobServices/containers/blobs';
const common = { headers: { 'x-ms-version': STORAGE_VERSION } };

/**
 * https://learn.microsoft.com/rest/api/storageservices/specifying-conditional-headers-for-blob-service-operations
 * https://learn.microsoft.com/rest/api/storageservices/list-blobs
 */
export const openObjectStore = (container: string, options: RestOptions): ObjectStore => ({
  ...createObjectStore(sendTo(STORAGE, options), {
    ...common,
    bucket: container,
    calls: { read: `${BLOBS}/read`, write: `${BLOBS}/write`, remove: `${BLOBS}/delete` },
    version: 'etag',
    writing: { 'x-ms-blob-type': 'BlockBlob' },
    onlyOver: matchHeaders,
  }),
  list: createObjectList(sendTo(STORAGE, options), {
    ...common,
    bucket: container,
    call: `${BLOBS}/read (list)`,
    query: (prefix, token) => ({
      restype: 'container',
      comp: 'list',
      prefix,
      ...(token !== null && { marker: token }),
    }),
    page: z.object({ EnumerationResults: listPage }).transform(({ EnumerationResults: page }) => page),
  }),
});

export const createIncidentKeeper = ({ container, topic }: IncidentPlaces, options: RestOptions): TellingKeeper => ({
  objects: openObjectStore(container, options),
  announce: async (announcement, signal) => {
    if (topic !== null) await tellTopic(topic, announcement, options, signal);
  },
});
