import { ACCESS_REVIEWS, reviewAccess } from './access-review.ts';
import { refusalFor, userOf } from './authority.ts';
import type { Call } from './call.ts';
import { parseApiPath } from './call.ts';
import { createOne } from './create.ts';
import { deleteOne, evictOne } from './delete.ts';
import { discoveryAnswer } from './api-resources.ts';
import { listAll, readOne } from './read.ts';
import { inOlderShape, newerEvents } from './older-events.ts';
import { patchOne } from './patch.ts';
import type { ApiServer } from './server.ts';
import { badRequest, methodNotAllowed, noSuchPath, unauthorized } from './status.ts';
import type { ApiAnswer, ApiRequest, ApiResponse } from './wire.ts';
import { json, text } from './wire.ts';

/** Available to everyone, as `system:public-info-viewer` grants. */
const publicAnswer = (server: ApiServer, path: string): ApiResponse | undefined => {
  if (path === '/readyz' || path === '/healthz' || path === '/livez') return text(200, 'ok');
  if (path !== '/version') return undefined;
  const [major = '', minor = ''] = server.version.replace(/^v/, '').split('.');
  const unsaid = {
    gitCommit: '',
    gitTreeState: '',
    buildDate: '',
    goVersion: '',
    compiler: '',
    platform: 'linux/amd64',
  };
  return json(200, { major, minor, gitVersion: server.version, ...unsaid });
};

const answerAt = (call: Call): ApiResponse => {
  const one = call.name !== '';
  const method = call.request.method;
  if (call.query.has('dryRun')) return badRequest('the sandbox knows no dry run');
  if (call.subresource === 'eviction') return method === 'POST' ? evictOne(call) : methodNotAllowed();
  switch (method) {
    case 'GET':
      return one ? readOne(call) : listAll(call);
    case 'POST':
      return one ? methodNotAllowed() : createOne(call);
    case 'PATCH':
      return one ? patchOne(call) : methodNotAllowed();
    case 'DELETE':
      return one && call.subresource === '' ? deleteOne(call) : methodNotAllowed();
    default:
      return methodNotAllowed();
  }
};

const answer = (server: ApiServer, request: ApiRequest): ApiResponse => {
  const [path = '', search = ''] = request.path.split('?', 2);
  const open = publicAnswer(server, path);
  if (open) return open;
  const user = userOf(server, request);
  if (!user) return unauthorized();
  if (path === ACCESS_REVIEWS) return request.method === 'POST' ? reviewAccess(user, request) : methodNotAllowed();
  const discovered = discoveryAnswer(path);
  if (discovered) return discovered;
  const events = newerEvents(request);
  if (events) return inOlderShape(request, answer(server, events));
  const apiPath = parseApiPath(path);
  if (!apiPath) return /^\/apis?\//.test(path) ? noSuchPath() : text(404, '404 page not found\n');
  return (
    refusalFor(user, request.method, apiPath) ??
    answerAt({ ...apiPath, server, user, request, query: new URLSearchParams(search) })
  );
};

/** The simulated Kubernetes API server: handles one request, changes the store, and returns one response. */
export const handleApi = (server: ApiServer, request: ApiRequest): ApiAnswer => {
  const instead = server.faults.before?.(request);
  if (instead !== undefined) return instead;
  const response = answer(server, request);
  return server.faults.after?.(request, response) ?? response;
};
