import type { ComputeClients } from './client.ts';
import { translated } from './errors.ts';

/** Whether there are credentials, and for which project, in words. @throws Denied, Unavailable */
export const credentialsFound = (clients: ComputeClients, signal: AbortSignal): Promise<string> =>
  translated(clients, 'the search for credentials', signal, async () => {
    const { auth } = clients.instances;
    if (clients.anonymous) return 'no credentials are used over plain http';
    await auth.getAccessToken();
    return `credentials are found, of the project ${await auth.getProjectId()}`;
  });
