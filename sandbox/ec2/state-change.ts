/**
 * The event that EventBridge delivers when an instance changes its state.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instance-state-changes.html
 */
export interface StateChangeEnvelope {
  readonly version: '0';
  readonly id: string;
  readonly 'detail-type': 'EC2 Instance State-change Notification';
  readonly source: 'aws.ec2';
  readonly account: string;
  /** The time has only seconds, so it gives no order. */
  readonly time: string;
  readonly region: string;
  readonly resources: readonly string[];
  readonly detail: { readonly 'instance-id': string; readonly state: string };
}
