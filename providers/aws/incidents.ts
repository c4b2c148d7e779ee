import { InvalidInput } from '../../fencing/model/errors.ts';
import type { Announcement } from '../../incidents/announcement.ts';
import type { ObjectStore, TellingKeeper } from '../../incidents/store.ts';
import { requireSuccess, type HttpCall, type SendCall } from '../../transport/answers.ts';
import { createObjectList, s3List, createObjectStore, matchHeaders } from '../object-store.ts';
import { putEventOn, createSignedCall, serviceUrl, type SignedCalls } from './signed-calls.ts';

/** Stores incidents in an S3 bucket, and sends messages about them to the event bus and to an SNS topic. */

export interface IncidentPlaces {
  readonly bucket: string;
  /** ARN of an SNS topic, or null. */
  readonly topic: string | null;
}

const bucketUrl = (bucket: string, options: SignedCalls): string => {
  const [protocol = '', host = ''] = serviceUrl('s3', options).split('//');
  return options.endpoint === null ? `${protocol}//${bucket}.${host}` : `${options.endpoint}/${bucket}`;
};

/** The region of a bucket, if it differs from the requested one. */
const REGION_HEADER = 'x-amz-bucket-region';

/**
 * S3 reports the region of a bucket from every region:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/Redirects.html
 */
const sendToRegion =
  (options: SignedCalls): SendCall =>
  async (call, signal) => {
    const answer = await createSignedCall('s3', options)(call, signal);
    const region = answer.header(REGION_HEADER);
    if (answer.status < 300 || region === null || region === options.region) return answer;
    throw new InvalidInput(`the bucket is in ${region}, not in ${options.region}: give --region ${region}`);
  };

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html */
export const openObjectStore = (bucket: string, options: SignedCalls): ObjectStore => ({
  ...createObjectStore(createSignedCall('s3', options), {
    bucket: bucketUrl(bucket, options),
    calls: { read: 's3:GetObject', write: 's3:PutObject', remove: 's3:DeleteObject' },
    version: 'etag',
    headers: {},
    writing: {},
    onlyOver: matchHeaders,
  }),
  list: createObjectList(sendToRegion(options), {
    ...s3List,
    bucket: `${bucketUrl(bucket, options)}/`,
    call: 's3:ListBucket',
    headers: {},
  }),
});

const detailTypes: Readonly<Record<Announcement['about'], string>> = {
  fence: 'Cloudfence Fence',
  refusal: 'Cloudfence Refusal',
  release: 'Cloudfence Release',
  failure: 'Cloudfence Failure',
  'would-fence': 'Cloudfence Would Fence',
};

const tellBus = (options: SignedCalls) => (announcement: Announcement, signal: AbortSignal) =>
  putEventOn(options)(
    {
      Source: 'cloudfence',
      DetailType: detailTypes[announcement.about],
      Resources: [announcement.machine],
      Time: Date.parse(announcement.at) / 1_000,
      Detail: JSON.stringify(announcement),
    },
    signal,
  );

/**
 * The subject of a mail has less than 100 characters, all of them ASCII:
 * https://docs.aws.amazon.com/sns/latest/api/API_Publish.html
 */
const subjectOf = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 99);

const tellTopic = (topic: string, options: SignedCalls) => async (announcement: Announcement, signal: AbortSignal) => {
  const form = new URLSearchParams({
    Action: 'Publish',
    Version: '2010-03-31',
    TopicArn: topic,
    Subject: subjectOf(announcement.texts.page),
    Message: JSON.stringify(announcement),
    'MessageAttributes.entry.1.Name': 'about',
    'MessageAttributes.entry.1.Value.DataType': 'String',
    'MessageAttributes.entry.1.Value.StringValue': announcement.about,
  });
  const call: HttpCall = {
    method: 'POST',
    url: `${serviceUrl('sns', options)}/`,
    name: 'sns:Publish',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
  };
  requireSuccess(await createSignedCall('sns', options)(call, signal), call);
};

export const createIncidentKeeper = ({ bucket, topic }: IncidentPlaces, options: SignedCalls): TellingKeeper => ({
  objects: openObjectStore(bucket, options),
  announce: async (announcement, signal) => {
    const tell = [tellBus(options), ...(topic === null ? [] : [tellTopic(topic, options)])];
    await Promise.all(tell.map((one) => one(announcement, signal)));
  },
});
