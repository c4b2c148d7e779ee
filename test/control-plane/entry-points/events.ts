import type { Ec2Access } from '../../testbed/control-plane.ts';

/** AWS's events for one instance, as EventBridge and SQS deliver them. */

interface StateChange {
  readonly type: string;
  readonly detail: Readonly<Record<string, string>>;
}

const bodyOf = ({ type, detail }: StateChange, { region }: Ec2Access): string =>
  JSON.stringify({
    version: '0',
    id: `event-${Object.values(detail).join('-')}`,
    'detail-type': type,
    source: 'aws.ec2',
    account: '123456789012',
    time: new Date().toISOString(),
    region,
    resources: [`arn:aws:ec2:${region}:123456789012:instance/${detail['instance-id']}`],
    detail,
  });

export interface Batch {
  readonly Records: readonly { readonly messageId: string; readonly body: string }[];
}

/** One batch with the messages of several batches. */
export const inOneBatch = (batches: readonly Batch[]): Batch => ({
  Records: batches
    .flatMap(({ Records }) => Records.map(({ body }) => body))
    .map((body, at) => ({ messageId: `message-${at}`, body })),
});

const batchOf = (changes: readonly StateChange[], ec2: Ec2Access): Batch =>
  inOneBatch([{ Records: changes.map((one) => ({ messageId: '', body: bodyOf(one, ec2) })) }]);

export const stateChanges = (instance: string, states: readonly string[], ec2: Ec2Access): Batch =>
  batchOf(
    states.map((state) => ({
      type: 'EC2 Instance State-change Notification',
      detail: { 'instance-id': instance, state },
    })),
    ec2,
  );

/**
 * Two minutes before the end of a Spot instance:
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
 */
export const spotWarning = (instance: string, action: 'terminate' | 'stop', ec2: Ec2Access): Batch =>
  batchOf(
    [
      {
        type: 'EC2 Spot Instance Interruption Warning',
        detail: { 'instance-id': instance, 'instance-action': action },
      },
    ],
    ec2,
  );
