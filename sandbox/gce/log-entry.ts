/** The entries of Cloud Audit Logs about instances. https://cloud.google.com/compute/docs/logging/audit-logging */
export interface LogEntry {
  readonly protoPayload: {
    readonly '@type': 'type.googleapis.com/google.cloud.audit.AuditLog';
    readonly authenticationInfo: { readonly principalEmail: string };
    readonly serviceName: 'compute.googleapis.com';
    readonly methodName: string;
    readonly resourceName: string;
    readonly status?: { readonly code?: number };
  };
  readonly insertId: string;
  readonly resource: {
    readonly type: 'gce_instance';
    readonly labels: { readonly instance_id: string; readonly project_id: string; readonly zone: string };
  };
  readonly timestamp: string;
  readonly severity: 'NOTICE' | 'INFO' | 'ERROR';
  readonly logName: string;
  readonly operation: { readonly id: string; readonly producer: string; readonly first?: true; readonly last?: true };
}
