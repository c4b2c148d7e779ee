import type { CloudName, Machine } from '../machines.ts';
import { numericIdOf, PROJECT, SUBSCRIPTION, ZONES } from '../names.ts';
import { EC2_REGION } from './ec2.ts';
import { dateAt, secondAt } from './side.ts';

/** The events that clouds send about machines. */

const EC2_STATES = {
  running: 'running',
  off: 'stopped',
  suspended: 'stopped',
  gone: 'terminated',
  stopping: 'stopping',
  starting: 'pending',
  forgotten: null,
} as const;

const ec2Event = ({ serial, id, shown }: Machine, now: number): object | null => {
  const state = EC2_STATES[shown.power];
  return (
    state && {
      version: '0',
      id: `event-${serial}-${now}`,
      'detail-type': 'EC2 Instance State-change Notification',
      source: 'aws.ec2',
      account: '123456789012',
      time: secondAt(now).toISOString().replace('.000Z', 'Z'),
      region: EC2_REGION,
      resources: [`arn:aws:ec2:${EC2_REGION}:123456789012:instance/${id}`],
      detail: { 'instance-id': id, state },
    }
  );
};

const AZURE_VERBS = {
  running: 'start/action',
  off: 'deallocate/action',
  suspended: 'deallocate/action',
  gone: 'delete',
  stopping: null,
  starting: null,
  forgotten: null,
} as const;

/** ARM sends nothing if a guest shuts itself down. */
const armEvent = ({ serial, id, shown }: Machine, now: number): object | null => {
  const verb = shown.power === 'off' && shown.byGuest ? null : AZURE_VERBS[shown.power];
  return (
    verb && {
      id: `event-${serial}-${now}`,
      topic: `/subscriptions/${SUBSCRIPTION}`,
      subject: id,
      eventType:
        verb === 'delete' ? 'Microsoft.Resources.ResourceDeleteSuccess' : 'Microsoft.Resources.ResourceActionSuccess',
      eventTime: dateAt(now).toISOString(),
      data: {
        operationName: `Microsoft.Compute/virtualMachines/${verb}`,
        resourceProvider: 'Microsoft.Compute',
        resourceUri: id,
        status: 'Succeeded',
        subscriptionId: SUBSCRIPTION,
      },
      dataVersion: '2',
      metadataVersion: '1',
    }
  );
};

const COMPUTE_METHODS = {
  running: 'v1.compute.instances.start',
  off: 'v1.compute.instances.stop',
  suspended: 'v1.compute.instances.suspend',
  gone: 'v1.compute.instances.delete',
  stopping: null,
  starting: null,
  forgotten: null,
} as const;

const computeEvent = (machine: Machine, now: number): object | null => {
  const { serial, id, shown } = machine;
  const byGuest = shown.power === 'off' && shown.byGuest;
  const methodName = byGuest ? 'compute.instances.guestTerminate' : COMPUTE_METHODS[shown.power];
  const operation = { id: `operation-${serial}-${now}`, producer: 'compute.googleapis.com', last: true };
  return (
    methodName && {
      protoPayload: {
        '@type': 'type.googleapis.com/google.cloud.audit.AuditLog',
        authenticationInfo: { principalEmail: 'somebody@example.org' },
        serviceName: 'compute.googleapis.com',
        methodName,
        resourceName: id,
      },
      insertId: `event-${serial}-${now}`,
      resource: {
        type: 'gce_instance',
        labels: { instance_id: numericIdOf(machine), project_id: PROJECT, zone: ZONES.gcp },
      },
      timestamp: dateAt(now).toISOString(),
      severity: byGuest ? 'INFO' : 'NOTICE',
      logName: `projects/${PROJECT}/logs/cloudaudit.googleapis.com%2F${byGuest ? 'system_event' : 'activity'}`,
      operation,
    }
  );
};

const EVENTS = { aws: ec2Event, azure: armEvent, gcp: computeEvent } as const;

/**
 * Returns the event about the machine as it arrives in the queue of an install in `home`, or null if there is none. An
 * install reads the events of its own cloud. If the machine is in another cloud, the install gets a message of
 * Cloudfence.
 */
export const eventOf = (machine: Machine, home: CloudName, now: number): string | null => {
  const event = EVENTS[machine.cloud](machine, now);
  if (event === null) return null;
  const own = {
    cloudfence: 'look-again',
    machine: machine.id,
    hops: 1,
    because: 'forwarded',
    event: null,
    eventAt: null,
  };
  return JSON.stringify(machine.cloud === home ? event : own);
};
