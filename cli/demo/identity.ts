import { neededPermissions } from '../../kubernetes/doctor.ts';
import type { ApiUser, PolicyRule } from '../../sandbox/cluster/api/server.ts';

/** Cloudfence's own identity in the sandbox's cluster: what it asks for in a real one, and not one verb more. */

const marks = ({ verb, resource }: (typeof neededPermissions)[number]): boolean => verb === 'patch' && resource === 'nodes';

const ruleFor = ({ verb, group, resource, subresource, namespace, name }: (typeof neededPermissions)[number]): PolicyRule => ({
  apiGroups: [group],
  resources: [subresource === undefined ? resource : `${resource}/${subresource}`],
  verbs: [verb],
  ...(namespace !== undefined && { namespaces: [namespace] }),
  ...(name !== undefined && { resourceNames: [name] }),
});

export const cloudfenceUser = ({ mayMark }: { readonly mayMark: boolean }): ApiUser => ({
  name: 'cloudfence',
  rules: neededPermissions.filter((permission) => mayMark || !marks(permission)).map(ruleFor),
});
