import type { AuditEntry, ClusterState } from '../../../sandbox/cluster/store.ts';
import { keyOf } from '../../../sandbox/cluster/store.ts';
import { authorNamed } from './authors.ts';
import type { Watched } from './facets.ts';
import { WATCHED } from './facets.ts';
import type { Writing } from './lines.ts';

const isWatched = (resource: string): resource is Watched => WATCHED.some((kind) => kind === resource);

/** From now on, records every write to the cluster of a sandbox, as the audit log would. */
export const recordWrites = (cluster: ClusterState): readonly Writing[] => {
  const writings: Writing[] = [];
  const last = new Map<string, unknown>();
  const takeDown = ({ at, user, verb, resource, namespace, name, uid }: AuditEntry): void => {
    if (!isWatched(resource) || verb === 'delete') return;
    const standing = structuredClone(cluster.objects[resource][keyOf({ name, namespace })]);
    const gone = verb === 'remove';
    const object = gone ? last.get(uid) : standing;
    last.set(uid, object);
    writings.push({ at, revision: cluster.revision, by: authorNamed(user), kind: resource, uid, object, gone });
  };
  const note = cluster.audit.push.bind(cluster.audit);
  cluster.audit.push = (...entries) => {
    entries.forEach(takeDown);
    return note(...entries);
  };
  return writings;
};
