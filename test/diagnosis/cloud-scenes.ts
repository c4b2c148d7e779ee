import type { DiagnosisTools } from '../../app/diagnose.ts';
import { PermissionDenied } from '../../fencing/model/errors.ts';
import type { Ports } from '../../fencing/loop/ports.ts';
import type { ClusterOptions } from '../../kubernetes/cluster.ts';
import { attachmentName } from '../../kubernetes/attachments.ts';
import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBarePod } from '../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import type { Resource, Resources } from '../../sandbox/cluster/objects.ts';
import type { World } from '../../sandbox/world.ts';
import { type Diagnosed, diagnoseWith, toolsWith } from './sandbox-diagnosis.ts';

/** A cluster of two healthy Nodes of one cloud, with a claim `app-data` and its own disk. */

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

/** A cloud that the credentials may not read. */
const denied = async (): Promise<never> => {
  throw new PermissionDenied('no credentials for the cloud');
};

export const diagnoseWhere =
  (options: ClusterOptions, ports: () => Ports, view: DiagnosisTools['openedCloud']['viewDisks']): Diagnose =>
  async (target, credentials = 'for the cloud, too') => {
    const opened = ports();
    const tools =
      credentials === 'for the cluster'
        ? toolsWith(options, { ...opened, cloud: { ...opened.cloud, look: denied } }, denied)
        : toolsWith(options, opened, view);
    return diagnoseWith(await tools, target);
  };

export const START = 60_000;

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

/** Adds an attachment of the claim's volume to a Node, as attach-detach and the attacher would have written it. */
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

/** The pod `app` has been waiting on its Node for five minutes, and the driver returned this error a moment ago. */
export const attachFails = <P extends ClusterParts>(scene: CloudScene<P>, says: string): void => {
  const { world, node, driver, handle } = scene;
  world.parts.cluster.knobs.attacherDown = true;
  addPodOn(world, 'app', node);
  world.advance(300_000);
  editIn(world, 'volumeattachments', [attachmentName({ driver, handle }, node)], ({ status }) => {
    status.attachError = { time: new Date(world.now() - 5_000).toISOString(), message: says };
  });
};
