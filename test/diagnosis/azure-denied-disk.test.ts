import { expect, it } from 'vitest';
import { createCloudMemory } from '../../diagnosis/cloud-memory.ts';
import { viewDisks } from '../../providers/azure/disks.ts';
import { AZURE_DISK } from '../../sandbox/azure-sandbox.ts';
import { inProcessClient } from '../../sandbox/azure/in-process-client.ts';
import { addDisk } from '../../sandbox/azure/scenario.ts';
import { diskIn } from '../../sandbox/azure/state.ts';
import { azureWorld, clientsOf, cloudOf } from '../sandbox/azure/azure-world.ts';

it('a disk of Azure that the credentials may not read hides no other disk', async () => {
  const world = azureWorld();
  const volumes = Array.from({ length: 5 }, () => {
    const handle = diskIn(world, addDisk(world))?.armId ?? '';
    return { driver: AZURE_DISK, handle };
  });
  const secret = volumes[2]?.handle.split('/').at(-1) ?? '';
  const server = inProcessClient(world);
  const clients = clientsOf(world, {
    httpClient: {
      sendRequest: async (request) => {
        const answer = await server.sendRequest(request);
        if (!request.url.includes(secret)) return answer;
        const error = { code: 'AuthorizationFailed', message: `no authorization over the scope ${secret}` };
        return { ...answer, status: 403, bodyAsText: JSON.stringify({ error }) };
      },
    },
  });
  const memory = createCloudMemory({
    cloud: {
      rules: cloudOf(world),
      look: async () => [],
      disks: (some, stop) => viewDisks(clients, some, stop),
    },
    signal: new AbortController().signal,
  });
  await memory.askWitnesses(volumes);
  const found = volumes.map((volume) => memory.disk(volume));
  expect(found.map((disk) => (disk === 'unread' ? disk : disk?.state))).toEqual([
    'Unattached',
    'Unattached',
    'unread',
    'Unattached',
    'Unattached',
  ]);
  expect(memory.unread()).toEqual([expect.stringContaining(`no authorization over the scope ${secret}`)]);
});
