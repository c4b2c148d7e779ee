import type { IncomingHttpHeaders } from 'node:http';
import { openCloudServer, type CloudServer } from '../cloud-server.ts';
import { allowAll, permissionCheckOf, type Authority } from './iam/authority.ts';
import { handleEc2 } from './query.ts';
import type { Ec2World } from './state.ts';

/**
 * The simulated EC2 on 127.0.0.1; port 0 selects a free port. `arrived` is called for each request before it has any
 * effect, so that the caller can advance virtual time. With an authority, each call is checked against the permissions
 * of its signer. Without one, all calls are allowed.
 */
export const openEc2Server = (
  world: Ec2World,
  port = 0,
  arrived: (headers: IncomingHttpHeaders) => void = () => undefined,
  authority: Authority | null = null,
): Promise<CloudServer> =>
  openCloudServer(
    async (request, sent) => {
      const params = new URLSearchParams(sent);
      const judge = authority ? await permissionCheckOf(authority, request.headers.authorization) : allowAll;
      arrived(request.headers);
      const { status, body, requestId, cut } = handleEc2(world, params, judge);
      const headers = { 'content-type': 'text/xml;charset=UTF-8', 'x-amzn-requestid': requestId };
      return { call: params.get('Action') ?? '', status, headers, body, cut };
    },
    { port },
  );
