import type { EC2Client } from '@aws-sdk/client-ec2';
import { underPermit, type PermittedCall } from '../../transport/under-permit.ts';
import type { Ec2Clients } from './client.ts';

/** The last step before the wire: signing, and with it every wait for credentials, lies before. */
const AFTER_SIGNING = { step: 'deserialize', priority: 'low', name: 'checkPermit' } as const;

/** A client for this one call, and what its command is sent with. */
type Send = (client: EC2Client, sending: { readonly abortSignal: AbortSignal }) => Promise<unknown>;

/** Sends one destructive command. @throws ProofExpired, Unavailable, and what the SDK throws */
export const permitted = (clients: Ec2Clients, call: PermittedCall, send: Send): Promise<unknown> =>
  underPermit(call, (passage) => {
    const client = clients.writes(passage);
    const checked = <Args, Result>(next: (args: Args) => Promise<Result>) => (args: Args): Promise<Result> => {
      passage.check();
      return next(args);
    };
    client.middlewareStack.add(checked, AFTER_SIGNING);
    return send(client, { abortSignal: passage.signal });
  });
