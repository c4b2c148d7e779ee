import { z } from 'zod';
import { allows } from './authority.ts';
import { parsedBody } from './body.ts';
import type { ApiUser } from './server.ts';
import { badRequest } from './status.ts';
import type { ApiRequest, ApiResponse } from './wire.ts';
import { json } from './wire.ts';

const review = z.looseObject({
  spec: z.object({
    resourceAttributes: z.object({
      verb: z.string(),
      group: z.string().default(''),
      resource: z.string(),
      subresource: z.string().default(''),
      name: z.string().default(''),
      namespace: z.string().default(''),
    }),
  }),
});

export const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/**
 * Answers which operations the user may perform.
 * https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access
 */
export const reviewAccess = (user: ApiUser, request: ApiRequest): ApiResponse => {
  const read = review.safeParse(parsedBody(request.body)?.value);
  if (!read.success) return badRequest(`the access review cannot be read: ${read.error.message}`);
  const asked = read.data.spec.resourceAttributes;
  const resource = asked.subresource === '' ? asked.resource : `${asked.resource}/${asked.subresource}`;
  return json(201, { ...read.data, metadata: {}, status: { allowed: allows(user, { ...asked, resource }) } });
};
