import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';

/**
 * The API server's own record of who changed a Node, a pod, or an attachment:
 * https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/
 */

const policyPath = (folder: string): string => join(folder, 'audit-policy.yaml');
const logPath = (folder: string): string => join(folder, 'audit.log');

const policy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  omitManagedFields: true,
  rules: [
    {
      level: 'RequestResponse',
      verbs: ['create', 'update', 'patch', 'delete'],
      resources: [
        { group: '', resources: ['nodes', 'nodes/status', 'pods', 'pods/status', 'pods/binding'] },
        { group: 'storage.k8s.io', resources: ['volumeattachments', 'volumeattachments/status', 'csinodes'] },
      ],
    },
    { level: 'None' },
  ],
};

export const writeAuditPolicy = (folder: string): Promise<void> => writeFile(policyPath(folder), stringify(policy));

export const auditFlags = (folder: string): readonly string[] => [
  '--audit-policy-file',
  policyPath(folder),
  '--audit-log-path',
  logPath(folder),
];

const user = z.looseObject({ username: z.string() });

const line = z.looseObject({
  verb: z.string(),
  user,
  impersonatedUser: user.nullish(),
  objectRef: z.looseObject({ resource: z.string(), namespace: z.string().default(''), name: z.string().default('') }),
  responseStatus: z.looseObject({ code: z.number() }),
  responseObject: z
    .looseObject({
      kind: z.string().default(''),
      metadata: z
        .looseObject({
          name: z.string().default(''),
          uid: z.string().default(''),
          resourceVersion: z.string().default(''),
        })
        .nullish(),
    })
    .nullish(),
  stageTimestamp: z.string(),
});

/** One write that the API server has accepted. */
export interface AuditEntry {
  /** Epoch ms. */
  readonly at: number;
  readonly user: string;
  readonly verb: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** The uid of the object in the answer. Empty if the answer has none. */
  readonly uid: string;
  readonly revision: string;
}

/** RFC 3339 with microseconds, which Date would cut off. */
const precisely = (stamp: string): number =>
  Date.parse(stamp) + Number(/\.\d{3}(\d{3})Z$/.exec(stamp)?.[1] ?? 0) / 1000;

const entryOf = ({
  verb,
  user,
  impersonatedUser,
  objectRef,
  responseObject,
  stageTimestamp,
}: z.infer<typeof line>): AuditEntry => {
  const answered = responseObject?.kind === 'Status' ? null : responseObject?.metadata;
  const { resource, namespace, name } = objectRef;
  return {
    at: precisely(stageTimestamp),
    user: impersonatedUser?.username ?? user.username,
    verb,
    resource,
    namespace,
    name: name === '' ? (answered?.name ?? '') : name,
    uid: answered?.uid ?? '',
    revision: answered?.resourceVersion ?? '',
  };
};

/** All writes accepted so far with one of these names, in the order of their answers. */
export const readAudit = async (folder: string, names: readonly string[]): Promise<readonly AuditEntry[]> => {
  const whole = (await readFile(logPath(folder), 'utf8')).split('\n').filter((text) => text.endsWith('}'));
  const lines = whole.filter((text) => names.some((name) => text.includes(name)));
  return lines
    .map((text) => line.parse(JSON.parse(text)))
    .filter(({ responseStatus }) => responseStatus.code < 300)
    .map(entryOf);
};
