import { EC2Client } from '@aws-sdk/client-ec2';
import { describe, expect, it } from 'vitest';
import { witness } from '../../../providers/aws/witness.ts';
import { answerXml, setOf } from '../../../sandbox/ec2/render.ts';

/** EC2 with one volume in that state, attached to nothing. */
const clientSeeing = (status: string): EC2Client => {
  const xml = answerXml('DescribeVolumes', 'request', { volumeSet: setOf([{ volumeId: 'vol-abcd1111', status, attachmentSet: setOf([]) }]) });
  const handler = {
    handle: async () => ({ response: { statusCode: 200, headers: {}, body: new TextEncoder().encode(xml) } }),
    updateHttpClientConfig: () => undefined,
    httpHandlerConfigs: () => ({}),
  };
  return new EC2Client({ region: 'eu-central-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' }, requestHandler: handler });
};

describe('a volume that does not name the machine', () => {
  it.each([
    ['available', 'released'],
    ['in-use', 'released'],
    ['creating', 'none'],
    ['deleting', 'none'],
    ['deleted', 'none'],
    ['error', 'none'],
  ])('testifies only while it stands firm: %s gives %s', async (status, expected) => {
    const said = await witness(clientSeeing(status), 'i-abcd1111', ['vol-abcd1111'], new AbortController().signal);
    expect(said).toBe(expected);
  });
});
