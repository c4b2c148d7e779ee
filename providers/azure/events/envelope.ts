import { z } from 'zod';
import type { Hint, ParsedEvent } from '../../../fencing/model/cloud.ts';
import { jsonOrNull, parseJsonOrText } from '../../../fencing/model/json-text.ts';
import { createReadBudget, parseJsonDocuments } from '../../events/json-text.ts';
import { fault, ignoredEvent, parsedHints, unreadable } from '../../events/reading.ts';
import { isComputeSender, eventKinds, parseTime, subjectOf, type ParsedDetail } from './kinds.ts';

/**
 * The two schemas of Event Grid. Neither the id nor the time is validated, because some published samples have ids that
 * are not UUIDs and placeholder times. The version of CloudEvents is not validated either, because one sample misspells
 * it. https://learn.microsoft.com/azure/event-grid/event-schema,
 * https://learn.microsoft.com/azure/event-grid/cloud-event-schema
 */
const gridEvent = z
  .object({ eventType: z.string(), id: z.string().nullish(), eventTime: z.string().nullish() })
  .transform(({ eventType, id, eventTime }) => ({ type: eventType, key: 'eventType', id, time: eventTime }));

const cloudEvent = z
  .object({ type: z.string(), id: z.string().nullish(), time: z.string().nullish() })
  .transform(({ type, id, time }) => ({ type, key: 'type', id, time }));

const SCHEMAS = 'send the event as Event Grid delivers it';

export const isEnvelope = (raw: object): boolean => 'eventType' in raw || ('specversion' in raw && 'type' in raw);

/** Parses data that arrives as text, or in base64 as CloudEvents allows. */
const opened = (data: unknown): unknown => {
  if (typeof data !== 'string') return data;
  const [only] = parseJsonDocuments(data, '$', createReadBudget());
  return only && 'value' in only ? only.value : data;
};

const withData = (raw: object): object => {
  if ('data_base64' in raw) return { ...raw, data: opened(raw.data_base64) };
  return 'data' in raw ? { ...raw, data: opened(raw.data) } : raw;
};

/** Reads only the data of an event, without the event around it. Returns null for anything else. */
export const readEventData = (data: object, where: string): ParsedEvent | null => {
  const type =
    'resourceUri' in data && 'operationName' in data ? 'Microsoft.Resources.ResourceActionSuccess' : kindOfInfo(data);
  if (type === null) return null;
  const { faults, ...rest } = readEnvelope({ eventType: type, data }, where);
  return { ...rest, faults: faults.map((one) => ({ ...one, where: one.where.replace(`${where}.data`, where) })) };
};

const info = z.object({ resourceInfo: z.object({ properties: z.looseObject({}).nullish() }) });

const kindOfInfo = (data: object): string | null => {
  const read = info.safeParse(data);
  if (!read.success) return null;
  const { properties } = read.data.resourceInfo;
  if (properties && 'availabilityState' in properties)
    return 'Microsoft.ResourceNotifications.HealthResources.AvailabilityStatusChanged';
  if (properties && 'annotationName' in properties)
    return 'Microsoft.ResourceNotifications.HealthResources.ResourceAnnotated';
  return 'Microsoft.ResourceNotifications.Resources.CreatedOrUpdated';
};

export const readEnvelope = (sent: object, where: string): ParsedEvent => {
  const raw = withData(sent);
  const outer = ('eventType' in raw ? gridEvent : cloudEvent).safeParse(raw);
  if (!outer.success) return unreadable(outer.error, where, SCHEMAS);
  const { type, key, id = null, time } = outer.data;
  const kind = eventKinds.get(type.toLowerCase());
  if (!kind && isComputeSender(type)) return ignoredEvent(`an event of the type "${type}"`, where);
  if (!kind)
    return fault(
      `Cloudfence does not support events of the type "${type}"`,
      `${where}.${key}`,
      'change the filter of the event subscription so that it does not send this type',
    );
  const inner = kind.safeParse(raw);
  if (!inner.success) return unreadable(inner.error, where, `check the event against the published shape of "${type}"`);
  return parsedEventOf(inner.data, { eventId: id, time: parseTime(time) }, where);
};

type Origin = Pick<Hint, 'eventId' | 'time'>;

/** Returns hints for machines and scale sets. An event about another resource is not a reason to look. */
export const parsedEventOf = (understood: ParsedDetail, origin: Origin, where: string): ParsedEvent => {
  if (understood.resources === null) return ignoredEvent(understood.whyIgnored, where);
  const subjects = understood.resources.flatMap((resource) => subjectOf(resource) ?? []);
  if (subjects.length === 0)
    return ignoredEvent(
      `an event (${understood.because}) that names no machine but ${understood.resources.join(', ') || 'nothing'}`,
      where,
    );
  return parsedHints(
    subjects.map(({ id, subscription }) => ({
      machine: id,
      because: understood.because,
      ...origin,
      account: subscription,
      region: null,
      replay: null,
    })),
  );
};

/**
 * If the attributes of a CloudEvent arrive as headers and its body contains only the data, returns the event as one
 * document. Returns any other body unchanged. Data that is nested too deeply to serialize stays the text that it is.
 * https://github.com/cloudevents/spec/blob/main/cloudevents/bindings/http-protocol-binding.md
 */
export const toStructuredEvent = (headers: Readonly<Record<string, string | undefined>>, body: string): string => {
  const { 'ce-specversion': specversion, 'ce-type': type } = headers;
  if (specversion === undefined || type === undefined) return body;
  const attributes = Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith('ce-') && value !== undefined ? [[name.slice(3), decoded(value)]] : [],
  );
  const event = { ...Object.fromEntries(attributes), data: parseJsonOrText(body) };
  return jsonOrNull(event) ?? JSON.stringify({ ...event, data: body });
};

/** Decodes a percent-encoded value. Returns a value unchanged if it is not valid percent-encoding. */
const decoded = (value: string): string => {
  try {
    return decodeURIComponent(value);
  } catch (error) {
    if (error instanceof URIError) return value;
    throw error;
  }
};
