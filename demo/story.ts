import type { Cloud } from '../fencing/model/cloud.ts';
import type { CloudServer } from '../sandbox/cloud-server.ts';
import type { ClusterParts } from '../sandbox/cluster/cluster-world.ts';
import type { NodeObject, PodObject } from '../sandbox/cluster/objects.ts';
import { listObjects, getObject } from '../sandbox/cluster/get-objects.ts';
import { DATABASE_POD } from '../sandbox/scenes/database-pods.ts';
import type { World } from '../sandbox/world.ts';
import type { CloudEvent, DeployedFunction, FunctionParts } from './platform.ts';

/** A database with one disk on one of two Nodes, by the ids of its cloud. */
export interface Scene {
  /** The disk. `holder` is the instance that holds it now. */
  readonly volume: string;
  readonly holder: string;
  readonly spare: string;
  readonly nodeOf: (instance: string) => string;
}

export interface Machine {
  /** The state in the cloud's own words. */
  readonly state: string;
  readonly power: 'running' | 'off' | 'gone' | 'between';
  readonly boot: number;
}

interface Holder {
  readonly instance: string;
  readonly state: string;
}

/** Runs a call to the cloud, which waits for its turn before it is sent. */
export type RunCall = <T>(exchange: () => Promise<T>) => Promise<T>;

/** The cloud-specific part of the demo. The stories and their ends are the same on every cloud. */
export interface DemoCloud<P extends ClusterParts> {
  readonly name: string;
  /** The common name of the service that runs the instances. */
  readonly title: string;
  /** The key of this API in the JSON output. */
  readonly api: string;
  readonly create: (start: { readonly seed: number; readonly now: number }) => World<P>;
  readonly scene: (world: World<P>) => Scene;
  readonly machine: (world: World<P>, instance: string) => Machine;
  /** Shortens an id for a table, because ids and names can be long. */
  readonly shortName: (instance: string) => string;
  readonly shortNode: (node: string) => string;
  /** Scenarios that do not apply to this cloud, with the reason. */
  readonly showsNothing: Readonly<Record<string, string>>;
  readonly holders: (world: World<P>, volume: string) => readonly Holder[];
  readonly violations: (world: World<P>) => readonly { readonly what: string }[];
  readonly stop: (world: World<P>, instance: string) => void;
  /** Terminates the machine. */
  readonly destroy: (world: World<P>, instance: string) => void;
  readonly start: (world: World<P>, instance: string) => void;
  /** Returns all announcements so far, oldest first. An entry is null if the install does not subscribe to it. */
  readonly announcements: (world: World<P>) => readonly (CloudEvent | null)[];
  /**
   * True if an announcement can arrive before the change that it announces. The sweep then sees the end of that change.
   */
  readonly sweeps: boolean;
  /** Calls `arrived` for each request, before the request has any effect. */
  readonly openServer: (world: World<P>, arrived: () => void) => Promise<CloudServer>;
  /** Returns the variables with which the CLI reaches the server at `url`. */
  readonly environment: (url: string) => Readonly<Record<string, string>>;
  readonly connectCloud: (url: string, inTurn: RunCall) => Cloud;
  readonly deploy: (parts: FunctionParts) => DeployedFunction;
}

/** The state before the machine failed. These uids distinguish the old objects from the new ones. */
export interface Story<P extends ClusterParts = ClusterParts> extends Scene {
  /** The cloud on which the story plays. */
  readonly demoCloud: DemoCloud<P>;
  /** The Node of the machine that fails. */
  readonly node: string;
  readonly nodeUid: string;
  readonly bootID: string;
  readonly boot: number;
  readonly podUid: string;
  readonly attachmentUid: string;
}

export const beginStory = <P extends ClusterParts>(
  world: World<P>,
  scene: Scene,
  demoCloud: DemoCloud<P>,
): Story<P> => {
  const name = scene.nodeOf(scene.holder);
  const node = getObject(world, 'nodes', name);
  const attachment = listObjects(world, 'volumeattachments').find(({ spec }) => spec.nodeName === name);
  return {
    ...scene,
    demoCloud,
    node: name,
    nodeUid: node?.metadata.uid ?? '',
    bootID: node?.status.nodeInfo?.bootID ?? '',
    boot: demoCloud.machine(world, scene.holder).boot,
    podUid: databasePod(world)?.metadata.uid ?? '',
    attachmentUid: attachment?.metadata.uid ?? '',
  };
};

/** Returns the pod that has the database's name now, old or new. */
export const databasePod = (world: World<ClusterParts>): PodObject | undefined =>
  getObject(world, 'pods', DATABASE_POD.name, DATABASE_POD.namespace);

/** Returns the original Node object if it still exists. */
export const oldNode = (
  world: World<ClusterParts>,
  { node, nodeUid }: Pick<Story, 'node' | 'nodeUid'>,
): NodeObject | undefined => {
  const known = getObject(world, 'nodes', node);
  return known?.metadata.uid === nodeUid ? known : undefined;
};

export const oldAttachmentExists = (
  world: World<ClusterParts>,
  { attachmentUid }: Pick<Story, 'attachmentUid'>,
): boolean => listObjects(world, 'volumeattachments').some(({ metadata }) => metadata.uid === attachmentUid);
