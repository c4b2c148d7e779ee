import type { IncomingHttpHeaders } from 'node:http';
import { openCloudServer, type CloudServer } from '../cloud-server.ts';
import { handleGce } from './rest.ts';
import type { GceWorld } from './state.ts';

/**
 * The simulated Compute Engine on 127.0.0.1; port 0 selects a free port. `arrived` is called for each request before it
 * has any effect, so that the caller can advance virtual time. Waiting for an operation also advances time.
 */
export const openGceServer = (
  world: GceWorld,
  port = 0,
  arrived: (headers: IncomingHttpHeaders) => void = () => undefined,
): Promise<CloudServer> =>
  openCloudServer(
    (request, sent) => {
      arrived(request.headers);
      const call = { method: request.method ?? '', url: request.url ?? '', body: sent };
      const { status, body, cut, method } = handleGce(world, call);
      return { call: method, status, headers: { 'content-type': 'application/json; charset=UTF-8' }, body, cut };
    },
    { port },
  );
