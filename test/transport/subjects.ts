import type { Permit } from '../../fencing/model/permit.ts';
import { callClock } from '../../kubernetes/connection.ts';
import { createCluster } from '../../kubernetes/cluster.ts';
import { linkFromToken } from '../../kubernetes/access.ts';
import { awsCloud } from '../../providers/aws/index.ts';
import { ec2Clients } from '../../providers/aws/client.ts';
import { azureCloud } from '../../providers/azure/index.ts';
import { azureClients } from '../../providers/azure/client.ts';
import { gcpCloud } from '../../providers/gcp/index.ts';
import { computeClients } from '../../providers/gcp/client.ts';
import { handleArm } from '../../sandbox/azure/arm.ts';
import { addDisk as addAzureDisk, addMachine } from '../../sandbox/azure/scenario.ts';
import { machineIn } from '../../sandbox/azure/state.ts';
import { handleApi } from '../../sandbox/cluster/api/handle.ts';
import { handleEc2 } from '../../sandbox/ec2/query.ts';
import { addInstance, addVolume } from '../../sandbox/ec2/scenario.ts';
import { handleGce } from '../../sandbox/gce/rest.ts';
import { addDisk, addInstance as addGceInstance } from '../../sandbox/gce/scenario.ts';
import { instanceIn } from '../../sandbox/gce/state.ts';
import { FENCE_TOKEN, adminOf, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import { makeAttachment } from '../contract/cluster/harness.ts';
import { azureWorld, credential, polling, subscription } from '../sandbox/azure/azure-world.ts';
import { credentials, ec2World, region } from '../sandbox/ec2/ec2-world.ts';
import { gceWorld, requestIds } from '../sandbox/gce/gce-world.ts';
import { openSlowFront, trustOnly, type SlowFront } from './slow-front.ts';

/** A destructive call over TLS: a client of a cloud or of Kubernetes, and its server. */
export interface Subject {
  readonly front: SlowFront;
  /** The number of its reads before the destructive call. */
  readonly readsBefore: number;
  /** Makes a read, and therefore an open connection. */
  readonly warm: (signal: AbortSignal) => Promise<unknown>;
  readonly act: (permit: Permit, signal: AbortSignal) => Promise<unknown>;
}

const ec2 = async (): Promise<Subject> => {
  const world = ec2World();
  const machine = addInstance(world, { state: 'stopped' });
  const disk = addVolume(world, {}, { instance: machine });
  const front = await openSlowFront(
    ({ body }) => {
      const said = handleEc2(world, new URLSearchParams(body));
      return { ...said, headers: { 'content-type': 'text/xml;charset=UTF-8' } };
    },
    ({ body }) => body.includes('Action=DetachVolume'),
  );
  trustOnly(front.cert);
  const cloud = awsCloud({ clients: ec2Clients({ region, credentials, endpoint: front.url }), region });
  return {
    front,
    readsBefore: 0,
    warm: (signal) => cloud.look([machine], { disks: false }, signal),
    act: (permit, signal) => cloud.detach({ machine, incarnation: null }, disk, 'plain', permit, signal),
  };
};

const azure = async (): Promise<Subject> => {
  const world = azureWorld();
  const machine = addMachine(world, { power: 'deallocated' });
  const disk = addAzureDisk(world, {}, { machine });
  const answer = ({ method, url, headers, body }: Parameters<Parameters<typeof openSlowFront>[0]>[0]) =>
    handleArm(world, { method, url: `https://${headers['host'] ?? ''}${url}`, body }).answer;
  const front = await openSlowFront(answer, ({ method }) => method === 'POST');
  trustOnly(front.cert);
  const cloud = azureCloud(azureClients({ subscription, credential, endpoint: front.url, polling }));
  const target = { machine, incarnation: machineIn(world, machine)?.vmId ?? null };
  return {
    front,
    readsBefore: 2,
    warm: (signal) => cloud.look([machine], { disks: false }, signal),
    act: (permit, signal) => cloud.detach(target, disk, 'plain', permit, signal),
  };
};

const gce = async (): Promise<Subject> => {
  const world = gceWorld();
  const machine = addGceInstance(world, { status: 'TERMINATED', guest: 'down' });
  const disk = addDisk(world, {}, { instance: machine });
  const front = await openSlowFront(
    (call) => ({ ...handleGce(world, call), headers: { 'content-type': 'application/json; charset=UTF-8' } }),
    ({ url }) => url.includes('/detachDisk'),
  );
  trustOnly(front.cert);
  const clients = computeClients({ newRequestId: requestIds(), endpoint: front.url });
  const { auth } = clients.instances;
  auth.jsonContent = { type: 'authorized_user', client_id: 'test', client_secret: 'test', refresh_token: 'test' };
  (await auth.getClient()).setCredentials({ access_token: 'test', expiry_date: Number.MAX_SAFE_INTEGER });
  const target = { machine, incarnation: instanceIn(world, machine)?.id ?? null };
  const cloud = gcpCloud(clients);
  return {
    front,
    readsBefore: 1,
    warm: (signal) => cloud.look([machine], { disks: false }, signal),
    act: (permit, signal) => cloud.detach(target, disk, 'plain', permit, signal),
  };
};

const kubernetes = async (): Promise<Subject> => {
  const server = sandboxServer();
  const front = await openSlowFront(
    ({ method, url, headers, body }) => {
      const said = handleApi(server, { method, path: url, headers, body });
      if (said === 'drop') throw new Error('the sandbox drops nothing that it was not told to');
      return said;
    },
    ({ method }) => method === 'DELETE',
  );
  const link = linkFromToken({ server: front.url, ca: front.cert, token: async () => FENCE_TOKEN });
  const cluster = createCluster({ name: 'c', link, clock: callClock });
  const { name, uid } = await makeAttachment(
    { cluster, admin: adminOf(server), now: server.now },
    'csi-late',
    'n',
    'data',
  );
  return {
    front,
    readsBefore: 0,
    warm: (signal) => cluster.recheck('n', signal),
    act: (permit, signal) => cluster.apply({ do: 'delete-attachment', attachment: { name, uid } }, permit, signal),
  };
};

export const subjects: readonly (readonly [string, () => Promise<Subject>])[] = [
  ['EC2', ec2],
  ['Azure', azure],
  ['Compute Engine', gce],
  ['Kubernetes', kubernetes],
];
