import { EC2Client } from '@aws-sdk/client-ec2';
import { describe, expect, it } from 'vitest';
import type { Witness } from '../../../fencing/model/machine.ts';
import { askWitnesses } from '../../../providers/aws/disks.ts';
import { answerXml, xmlList } from '../../../sandbox/ec2/render.ts';

interface Seen {
  readonly status: string;
  /** The instances to which it is attached. */
  readonly at?: readonly string[];
  /** The state of the attachments. The default is `attached`. */
  readonly attachment?: string;
}

/** An EC2 with volumes in these states. */
const clientSeeing = (seen: readonly Seen[]): EC2Client => {
  const volumes = seen.map(({ status, at = [], attachment = 'attached' }, n) => ({
    volumeId: `vol-abcd111${n}`,
    status,
    attachmentSet: xmlList(at.map((instanceId) => ({ instanceId, status: attachment }))),
  }));
  const xml = answerXml('DescribeVolumes', 'request', { volumeSet: xmlList(volumes) });
  const handler = {
    handle: async () => ({ response: { statusCode: 200, headers: {}, body: new TextEncoder().encode(xml) } }),
    updateHttpClientConfig: () => undefined,
    httpHandlerConfigs: () => ({}),
  };
  return new EC2Client({
    region: 'eu-central-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    requestHandler: handler,
  });
};

const free: Seen = { status: 'available' };
const elsewhere: Seen = { status: 'in-use', at: ['i-abcd2222'] };

describe('the evidence of volumes about a machine that EC2 does not know', () => {
  it.each<readonly [string, readonly Seen[], Witness]>([
    ['no volume at all', [], 'none'],
    ['free', [free], 'released'],
    ['in use elsewhere', [elsewhere], 'released'],
    ['free, and in use elsewhere', [free, elsewhere], 'released'],
    ['in use, without saying where', [{ status: 'in-use' }], 'none'],
    ['free, but saying where it is', [{ ...elsewhere, status: 'available' }], 'none'],
    ['in use by something that is not an instance', [{ status: 'in-use', at: ['task'] }], 'none'],
    ['creating', [{ status: 'creating' }], 'none'],
    ['deleting', [{ status: 'deleting' }], 'none'],
    ['deleted', [{ status: 'deleted' }], 'none'],
    ['in error', [{ status: 'error' }], 'none'],
    ['free, and deleting: all have to be in a stable state', [free, { status: 'deleting' }], 'none'],
    ['attached to the machine', [{ status: 'in-use', at: ['i-abcd1111'] }], 'held'],
    ...['attaching', 'busy', 'detaching'].map(
      (attachment) => [attachment, [{ status: 'in-use', at: ['i-abcd1111'], attachment }], 'held'] as const,
    ),
    ['free, and attached to the machine', [free, { status: 'in-use', at: ['i-abcd2222', 'i-abcd1111'] }], 'held'],
  ])('%s', async (_, seen, expected) => {
    const disks = seen.map((__, n) => `vol-abcd111${n}`);
    expect(await askWitnesses(clientSeeing(seen), 'i-abcd1111', disks, new AbortController().signal)).toBe(expected);
  });
});
