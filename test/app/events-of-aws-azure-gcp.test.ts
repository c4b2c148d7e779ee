import { describe, expect, it } from 'vitest';
import { readEventOfAnyCloud } from '../../app/any-cloud.ts';
import { aws } from '../../providers/aws/plugin/register.ts';
import { azure } from '../../providers/azure/plugin/register.ts';
import { gcp } from '../../providers/gcp/plugin/register.ts';

/** The real readers together: none of them may read an event of another cloud as its own. */

const EC2 = 'i-0123456789abcdef0';
const VM = '/subscriptions/s/resourcegroups/g/providers/microsoft.compute/virtualmachines/v';
const GCE = 'projects/p/zones/europe-west1-b/instances/node-1';

describe('an event', () => {
  const read = (raw: unknown) => readEventOfAnyCloud(raw, [aws, azure, gcp]);
  const stopped = {
    'detail-type': 'EC2 Instance State-change Notification',
    source: 'aws.ec2',
    account: '111122223333',
    region: 'eu-west-1',
    time: '2026-01-01T00:00:00Z',
    id: 'e',
    resources: [],
    version: '0',
  };

  it.each([
    [{ ...stopped, detail: { 'instance-id': EC2, state: 'stopped' } }, EC2],
    [JSON.stringify({ resourceId: VM }), VM],
    [{ message: { data: Buffer.from(JSON.stringify({ instance: GCE })).toString('base64') } }, GCE],
  ])('is read by the cloud that understands it (%#)', (raw, machine) => {
    expect(read(raw)).toMatchObject({ hints: [{ machine }], faults: [] });
  });

  it('that is broken is reported by the cloud that understood most of it', () => {
    const { faults } = read([{ message: { data: Buffer.from('{"instance":"node-1"}').toString('base64') } }]);
    expect(faults).toMatchObject([
      { where: '$[0].message.data.instance', what: expect.stringMatching(/\(read as an event of gcp\)$/) },
    ]);
  });

  it('that is not an event belongs to no cloud, and the error says what each cloud would accept', () => {
    expect(read('{"weather":"fine"}').faults).toMatchObject([
      {
        what: 'this is not an event that Cloudfence supports',
        remedy: expect.stringMatching(/^send an EventBridge event.*; or .*resourceId.*; or an audit log entry/),
      },
    ]);
  });
});

it.each([EC2, VM, GCE, `${VM}/extensions/x`, 'node-1', ''])('the id %s belongs to at most one cloud', (id) => {
  expect([aws, azure, gcp].filter(({ ownsId }) => ownsId(id)).length).toBe([EC2, VM, GCE].includes(id) ? 1 : 0);
});
