import type { Configuration, RequestContext } from '@kubernetes/client-node/dist/gen/index.js';
import { ServerConfiguration, createConfiguration, wrapHttpLibrary } from '@kubernetes/client-node/dist/gen/index.js';
import type { Permit } from '../fencing/permit.ts';
import { lineOf, type Link } from './link.ts';

/** How the requests of one call are sent. */
export interface Sending {
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  readonly permit?: Permit;
}

interface Watched extends Sending {
  readonly deadline: () => AbortSignal;
  /** Hears the request line, for messages. */
  readonly note: (line: string) => void;
}

/** The client's configuration for one call: everything that must hold for the request is done where it is sent, after all else. */
export const configurationFor = (link: Link, sending: Watched): Configuration => {
  const send = (request: RequestContext) => {
    sending.note(lineOf(request));
    for (const [name, value] of Object.entries(sending.headers ?? {})) request.setHeaderParam(name, value);
    request.setSignal(AbortSignal.any([sending.signal, sending.deadline()]));
    return link.send(request, sending.permit ?? null);
  };
  return createConfiguration({
    baseServer: new ServerConfiguration(link.server, {}),
    authMethods: { default: link.authentication },
    httpApi: wrapHttpLibrary({ send }),
  });
};
