import type { ApiPath } from './call.ts';
import type { ApiServer, ApiUser, PolicyRule } from './server.ts';
import { forbidden } from './status.ts';
import type { ApiRequest, ApiResponse } from './wire.ts';

/** A requested operation, in the form of an access review. */
export interface Access {
  readonly verb: string;
  readonly group: string;
  /** Includes the subresource, such as `pods/status`. */
  readonly resource: string;
  readonly name: string;
  readonly namespace: string;
}

export const userOf = (server: ApiServer, request: ApiRequest): ApiUser | undefined => {
  const token = /^Bearer (.+)$/.exec(request.headers['authorization'] ?? '')?.[1];
  return token !== undefined && Object.hasOwn(server.users, token) ? server.users[token] : undefined;
};

const names = (list: readonly string[], wanted: string): boolean => list.includes('*') || list.includes(wanted);

const permits = (rule: PolicyRule, access: Access): boolean =>
  names(rule.verbs, access.verb) &&
  names(rule.apiGroups, access.group) &&
  names(rule.resources, access.resource) &&
  (rule.resourceNames === undefined || rule.resourceNames.includes(access.name)) &&
  (rule.namespaces === undefined || rule.namespaces.includes(access.namespace));

export const allows = (user: ApiUser, access: Access): boolean =>
  user.rules === 'all' || user.rules.some((rule) => permits(rule, access));

const verbOf = (method: string, apiPath: ApiPath): string => {
  switch (method) {
    case 'GET':
      return apiPath.name === '' ? 'list' : 'get';
    case 'POST':
      return 'create';
    case 'DELETE':
      return apiPath.name === '' ? 'deletecollection' : 'delete';
    default:
      return method.toLowerCase();
  }
};

const accessOf = (method: string, apiPath: ApiPath): Access => ({
  verb: verbOf(method, apiPath),
  group: apiPath.kind.group,
  resource: apiPath.subresource === '' ? apiPath.kind.resource : `${apiPath.kind.resource}/${apiPath.subresource}`,
  name: apiPath.name,
  namespace: apiPath.namespace,
});

/** Returns the 403 Status for this user, or undefined if the call is allowed. */
export const refusalFor = (user: ApiUser, method: string, apiPath: ApiPath): ApiResponse | undefined => {
  const access = accessOf(method, apiPath);
  if (allows(user, access)) return undefined;
  const where = access.namespace === '' ? 'at the cluster scope' : `in the namespace "${access.namespace}"`;
  const deed =
    `User "${user.name}" cannot ${access.verb} resource "${access.resource}" in API group "${access.group}" ` + where;
  return forbidden(apiPath.kind, apiPath.name, deed);
};
