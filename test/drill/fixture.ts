import { openDrill } from '../../cli/commands/drill.ts';
import { connectCloud, connectCluster, openServers, cloudfenceUser, TOKEN } from '../../demo/cluster.ts';
import { deployPractice } from '../../demo/practice.ts';
import { createCallSchedule } from '../../demo/platform.ts';
import type { DemoCloud, Scene } from '../../demo/story.ts';
import { conductDrill } from '../../drill/run.ts';
import type { DrillOptions, DrillResult, DrillTools } from '../../drill/tools.ts';
import type { DrillCloud } from '../../drill/ports.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { linkFromToken } from '../../kubernetes/access.ts';
import { openConnection } from '../../kubernetes/cluster.ts';
import { DRILL_ALLOWED, DRILL_LABEL } from '../../kubernetes/names.ts';
import { ADMIN_TOKEN } from '../../sandbox/cluster/api/server.ts';
import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addStorageClass } from '../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import type { World } from '../../sandbox/world.ts';

/** A drill in virtual time: the sandbox behind real sockets, with the real handlers as the installed functions. */

const NIGHT = Date.UTC(2026, 0, 5, 3);

/** What a test changes in the tools of a drill. */
export type FixtureTools = Partial<DrillTools> & {
  readonly here?: boolean;
  readonly spoiled?: (opened: Pick<DrillTools, 'cloud' | 'drillCloud' | 'drillCluster'>) => Partial<DrillTools>;
};

export interface Fixture<P extends ClusterParts> {
  readonly world: World<P>;
  readonly scene: Scene;
  /** The Node of the drill: the one without the database. */
  readonly node: string;
  readonly progressLines: readonly string[];
  readonly ending: AbortController;
  readonly drill: (changed?: Partial<DrillOptions>, tools?: FixtureTools) => Promise<DrillResult>;
  readonly cluster: { readonly name: string };
  /** Changes the Node as an administrator does. */
  readonly label: (labels: Readonly<Record<string, string>>) => void;
}

/** How the fixture reaches the cloud with the credentials of a person. */
export type OpenDrillCloud = (url: string) => Promise<DrillCloud>;

interface FixtureOptions<P extends ClusterParts> {
  readonly demoCloud: DemoCloud<P>;
  readonly drillCloud: OpenDrillCloud;
  /** Whether functions are installed that react to events. */
  readonly installed?: boolean;
}

const labelNode = (world: World<ClusterParts>, name: string, labels: Readonly<Record<string, string>>): void => {
  const node = getObject(world, 'nodes', name);
  if (node)
    writerAs(world, 'admin').change('nodes', node, (draft) => {
      draft.metadata.labels = { ...draft.metadata.labels, ...labels };
    });
};

const worldFor = <P extends ClusterParts>(demoCloud: DemoCloud<P>) => {
  const world = demoCloud.create({ seed: 1, now: NIGHT });
  const scene = demoCloud.scene(world);
  addStorageClass(world, 'sandbox');
  const node = scene.nodeOf(scene.spare);
  labelNode(world, node, { [DRILL_LABEL]: DRILL_ALLOWED });
  return { world, scene, node };
};

const never = (): AbortSignal => new AbortController().signal;

/** Runs `work` with a fixture, and then closes everything. */
export const withFixture = async <P extends ClusterParts>(
  { demoCloud, drillCloud, installed = true }: FixtureOptions<P>,
  work: (fixture: Fixture<P>) => Promise<void>,
): Promise<void> => {
  const { world, scene, node } = worldFor(demoCloud);
  const turns = createCallSchedule(world.now, (at) => world.advance(Math.max(0, at - world.now())));
  const users = { [ADMIN_TOKEN]: { name: 'admin', rules: 'all' }, [TOKEN]: cloudfenceUser({ mayMark: true }) } as const;
  const servers = await openServers(world, demoCloud, users, turns.arrived);
  const since = demoCloud.announcements(world).length;
  const functions = deployPractice({ world, demoCloud, servers, turns, now: world.now, since });
  const person = { ...servers, kubernetes: { ...servers.kubernetes, token: ADMIN_TOKEN } };
  const { cluster, close } = connectCluster('demo', person, turns, world.now, world.random);
  const link = linkFromToken({
    server: servers.kubernetes.url,
    ca: servers.kubernetes.ca,
    token: async () => ADMIN_TOKEN,
  });
  const callClock = { now: world.now, sleep: turns.sleep, deadline: never };
  const connection = openConnection({ name: cluster.name, link, clock: callClock });
  const ending = new AbortController();
  const over = new AbortController();
  const running = installed ? functions.run(over.signal) : Promise.resolve();
  const progressLines: string[] = [];
  const clock = { now: () => ({ wall: world.now(), mono: world.now() }), sleep: turns.sleep, timeout: never };
  const person2 = {
    cloud: connectCloud(servers, demoCloud, turns, world.random),
    clusters: [cluster],
    clock,
    signal: ending.signal,
    observe: () => undefined,
  };
  const drill: Fixture<P>['drill'] = async (changed = {}, { here = false, spoiled, ...tools } = {}) => {
    const parts = {
      openedCloud: { drill: () => drillCloud(servers.cloud.url) },
      openClusters: [{ cluster, connection: async () => connection }],
      ports: person2,
      policy: defaultPolicy,
    };
    const machine = scene.spare;
    const opened = await openDrill({ machine, cluster: cluster.name }, parts, here);
    return conductDrill(
      {
        target: { node, machine },
        canary: { namespace: 'default', image: 'example.org/pause:1', storageClass: null },
        checks: { policy: defaultPolicy, suspendedGroup: null },
        timeout: 600_000,
        dryRun: false,
        ...changed,
      },
      {
        ...opened,
        giveUp: never(),
        tell: (says) => void progressLines.push(says),
        confirm: async () => true,
        ...tools,
        ...spoiled?.(opened),
      },
    );
  };
  try {
    await work({
      world,
      scene,
      node,
      progressLines,
      ending,
      cluster,
      drill,
      label: (labels) => labelNode(world, node, labels),
    });
  } finally {
    over.abort(new Error('the test is over'));
    await running.catch((error: unknown) => {
      if (!over.signal.aborted) throw error;
    });
    await Promise.all([functions.close(), close(), connection.close(), servers.close()]);
  }
};
