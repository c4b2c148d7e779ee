import { type GceWorld, type Instance, type LogEntry, nextId, type Operation } from './state.ts';

type AuditFields = Pick<LogEntry, 'severity' | 'operation'> & {
  readonly methodName: string;
  readonly principalEmail: string;
  readonly log: string;
  readonly failedWith?: number;
};

const write = (
  world: GceWorld,
  instance: Pick<Instance, 'path' | 'id'>,
  { methodName, principalEmail, log, severity, operation, failedWith }: AuditFields,
): void => {
  const { gce } = world.parts;
  gce.events.push({
    protoPayload: {
      '@type': 'type.googleapis.com/google.cloud.audit.AuditLog',
      authenticationInfo: { principalEmail },
      serviceName: 'compute.googleapis.com',
      methodName,
      resourceName: instance.path,
      ...(failedWith !== undefined && { status: { code: failedWith } }),
    },
    insertId: nextId(gce),
    resource: {
      type: 'gce_instance',
      labels: { instance_id: instance.id, project_id: gce.project, zone: instance.path.split('/')[3] ?? '' },
    },
    timestamp: new Date(world.now()).toISOString(),
    severity,
    logName: `projects/${gce.project}/logs/cloudaudit.googleapis.com%2F${log}`,
    operation,
  });
};

/** Each call has two entries: one when it is accepted, and one when its operation is done. */
export const logOperation = (
  world: GceWorld,
  { name, type, target, targetId, error }: Operation,
  phase: 'first' | 'last',
): void => {
  const operation = { id: name, producer: 'compute.googleapis.com', [phase]: true };
  const fields = {
    methodName: `v1.compute.instances.${type}`,
    principalEmail: 'somebody@example.org',
    log: 'activity',
    operation,
  };
  write(
    world,
    { path: target, id: targetId },
    error && phase === 'last' ? { ...fields, severity: 'ERROR', failedWith: 13 } : { ...fields, severity: 'NOTICE' },
  );
};

/** Events that Google or the guest causes, such as `preempted` or a shutdown by the guest. */
export const logSystemEvent = (world: GceWorld, instance: Instance, what: string): void => {
  const methodName = `compute.instances.${what}`;
  const operation = {
    id: `systemevent-${nextId(world.parts.gce)}`,
    producer: methodName,
    first: true,
    last: true,
  } as const;
  write(world, instance, {
    methodName,
    principalEmail: 'system@google.com',
    log: 'system_event',
    severity: 'INFO',
    operation,
  });
};
