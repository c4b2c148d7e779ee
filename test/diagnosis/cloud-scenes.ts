import type { DiagnosisTools } from '../../config/diagnose.ts';
import { PermissionDenied } from '../../fencing/model/errors.ts';
import type { Ports } from '../../fencing/loop/ports.ts';
import type { ClusterOptions } from '../../kubernetes/cluster.ts';
import { viewDisks as viewAzureDisks } from '../../providers/azure/disks.ts';
import { viewDisks as viewGceDisks } from '../../providers/gcp/disks.ts';
import { attachmentName } from '../../kubernetes/attachments.ts';
import { apiOf as azureApi, AZURE_DISK, SANDBOX_SUBSCRIPTION, type AzureParts } from '../../sandbox/azure-sandbox.ts';
import { addDisk as addAzureDisk } from '../../sandbox/azure/scenario.ts';
import { diskIn as azureDiskIn } from '../../sandbox/azure/state.ts';
import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBarePod, addBoundClaim } from '../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import type { Resource, Resources } from '../../sandbox/cluster/objects.ts';
import { apiOf as gceApi, PERSISTENT_DISK, type GceParts } from '../../sandbox/gce-sandbox.ts';
import { addDisk as addGceDisk, zonesOf } from '../../sandbox/gce/scenario.ts';
import { nodeNameOf as azureNodeNameOf } from '../../sandbox/scenes/azure-database.ts';
import { nodeNameOf as gceNodeNameOf } from '../../sandbox/scenes/gce-database.ts';
import type { World } from '../../sandbox/world.ts';
import { clientsOf as azureClientsOf } from '../sandbox/azure/azure-world.ts';
import { portsOver as azurePortsOver, scene as azureScene } from '../sandbox/azure/azure-rig.ts';
import { portsOver as gcePortsOver, scene as gceScene } from '../sandbox/gce/gce-rig.ts';
import { clientsOf as gceClientsOf } from '../sandbox/gce/gce-world.ts';
import { clusterIn } from '../sandbox/in-process.ts';
import { type Diagnosed, diagnoseWith, toolsWith } from './any-rig.ts';

/** A cluster of two healthy Nodes on Azure or Google Cloud, with a claim `app-data` and a disk of its own. */

type Diagnose = (target: string, credentials?: 'for the cloud, too' | 'for the cluster') => Promise<Diagnosed>;

export interface CloudScene<P extends ClusterParts> {
  readonly world: World<P>;
  readonly driver: string;
  /** The id of the disk in the sandbox, and in its PersistentVolume. */
  readonly disk: string;
  readonly handle: string;
  /** The Node on which the pods wait, and the other one, with their machines. */
  readonly node: string;
  readonly other: string;
  readonly machine: string;
  readonly otherMachine: string;
  readonly diagnose: Diagnose;
}

/** A cloud that nobody may ask. */
const denied = async (): Promise<never> => {
  throw new PermissionDenied('no credentials for the cloud');
};

const diagnoseWhere =
  (options: ClusterOptions, ports: () => Ports, view: DiagnosisTools['openedCloud']['viewDisks']): Diagnose =>
  async (target, credentials = 'for the cloud, too') => {
    const opened = ports();
    const tools =
      credentials === 'for the cluster'
        ? toolsWith(options, { ...opened, cloud: { ...opened.cloud, look: denied } }, denied)
        : toolsWith(options, opened, view);
    return diagnoseWith(await tools, target);
  };

const START = 60_000;

export const onAzure = (): CloudScene<AzureParts> => {
  const { world, holder, spare } = azureScene();
  const disk = addAzureDisk(world);
  const handle = azureDiskIn(world, disk)?.armId ?? '';
  addBoundClaim(world, 'app-data', { driver: AZURE_DISK, handle, zone: `${world.parts.azure.location}-1` });
  const clients = azureClientsOf(world, { subscription: SANDBOX_SUBSCRIPTION });
  world.advance(START);
  return {
    world,
    driver: AZURE_DISK,
    disk,
    handle,
    node: azureNodeNameOf(world, spare),
    other: azureNodeNameOf(world, holder),
    machine: spare,
    otherMachine: holder,
    diagnose: diagnoseWhere(
      clusterIn(world, azureApi(world)),
      () => azurePortsOver(world, 100),
      (volumes, signal) => viewAzureDisks(clients, volumes, signal),
    ),
  };
};

export const onGoogleCloud = (): CloudScene<GceParts> => {
  const { world, holder, spare } = gceScene();
  const disk = addGceDisk(world);
  addBoundClaim(world, 'app-data', { driver: PERSISTENT_DISK, handle: disk, zone: zonesOf(world)[0] ?? '' });
  world.advance(START);
  return {
    world,
    driver: PERSISTENT_DISK,
    disk,
    handle: disk,
    node: gceNodeNameOf(spare),
    other: gceNodeNameOf(holder),
    machine: spare,
    otherMachine: holder,
    diagnose: diagnoseWhere(
      clusterIn(world, gceApi(world)),
      () => gcePortsOver(world),
      (volumes, signal) => viewGceDisks(gceClientsOf(world), volumes, signal),
    ),
  };
};

export const editIn = <P extends ClusterParts, R extends Resource>(
  world: World<P>,
  resource: R,
  [name, namespace]: readonly [string, string?],
  change: (draft: Resources[R]) => void,
): void => {
  const object = getObject(world, resource, name, namespace);
  if (!object) throw new Error(`no ${resource} ${name}`);
  writerAs(world, 'person').change(resource, object, change);
};

/** Adds a pod that may run on one Node only. */
export const addPodOn = <P extends ClusterParts>(
  world: World<P>,
  name: string,
  node: string,
  claim = 'app-data',
): void =>
  void addBarePod(world, {
    name,
    spec: {
      nodeSelector: { 'kubernetes.io/hostname': node },
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }],
    },
  });

/** Adds an attachment of the claim's volume to a Node, as attach-detach and the attacher have written it. */
export const addAttachment = <P extends ClusterParts>({ world, driver, handle }: CloudScene<P>, node: string): void => {
  writerAs(world, 'attach-detach-controller').create('volumeattachments', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: {
      name: attachmentName({ driver, handle }, node),
      finalizers: [`external-attacher/${driver.replaceAll('.', '-')}`],
    },
    spec: { attacher: driver, nodeName: node, source: { persistentVolumeName: 'pvc-default-app-data' } },
    status: { attached: true },
  });
};

/** The pod `app` waits on its Node for five minutes, and the driver answered with this error a moment ago. */
export const attachFails = <P extends ClusterParts>(scene: CloudScene<P>, says: string): void => {
  const { world, node, driver, handle } = scene;
  world.parts.cluster.knobs.attacherDown = true;
  addPodOn(world, 'app', node);
  world.advance(300_000);
  editIn(world, 'volumeattachments', [attachmentName({ driver, handle }, node)], ({ status }) => {
    status.attachError = { time: new Date(world.now() - 5_000).toISOString(), message: says };
  });
};
