import { z } from 'zod';
import type { Reading } from '../../../fencing/hint.ts';
import { readEnvelope } from './envelope.ts';

/**
 * A record of CloudTrail's own log files, of which EventBridge makes an event.
 * https://docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-record-contents.html
 */
const record = z.looseObject({
  eventSource: z.string().endsWith('.amazonaws.com'),
  eventName: z.string(),
  eventType: z.string().nullish(),
  eventID: z.string().nullish(),
  eventTime: z.string().nullish(),
  awsRegion: z.string().nullish(),
  recipientAccountId: z.string().nullish(),
  userIdentity: z.object({ accountId: z.string().nullish() }).nullish(),
});

const typeOf = (eventType: string | null | undefined): string => (eventType === 'AwsServiceEvent' ? 'AWS Service Event via CloudTrail' : 'AWS API Call via CloudTrail');

/** Null when it is no such record. */
export const readTrailRecord = (raw: object, where: string): Reading | null => {
  const read = record.safeParse(raw);
  if (!read.success) return null;
  const { eventType, eventID: id, eventTime: time, awsRegion: region, recipientAccountId, userIdentity } = read.data;
  const event = { 'detail-type': typeOf(eventType), id, time, region, account: recipientAccountId ?? userIdentity?.accountId, detail: raw };
  const { faults, ...rest } = readEnvelope(event, where);
  return { ...rest, faults: faults.map((fault) => ({ ...fault, where: fault.where.replace(`${where}.detail`, where) })) };
};
