import { describe, expect, it } from 'vitest';
import { demoCloud as awsDemo } from '../../demo/aws-cloud.ts';
import { demoCloud as azureDemo } from '../../demo/azure-cloud.ts';
import { demoCloud as gcpDemo } from '../../demo/gcp-cloud.ts';
import type { DemoCloud } from '../../demo/story.ts';
import { awsDrill } from '../../providers/aws/drill.ts';
import { ec2Clients } from '../../providers/aws/client.ts';
import { azureDrill } from '../../providers/azure/drill.ts';
import { azureClients } from '../../providers/azure/client.ts';
import { gcpDrill } from '../../providers/gcp/drill.ts';
import { computeClients } from '../../providers/gcp/client.ts';
import { SANDBOX_REGION } from '../../sandbox/aws-sandbox.ts';
import { SANDBOX_SUBSCRIPTION } from '../../sandbox/azure-sandbox.ts';
import { addFault } from '../../sandbox/ec2/faults.ts';
import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import { listObjects } from '../../sandbox/cluster/get-objects.ts';
import type { World } from '../../sandbox/world.ts';
import { type OpenDrillCloud, type Fixture, withFixture } from './fixture.ts';

/** Whole drills, with the real handlers as the installed functions. */

interface OnCloud {
  readonly run: (work: (fixture: Fixture<ClusterParts>) => Promise<void>, installed?: boolean) => Promise<void>;
  readonly powerOf: (fixture: Fixture<ClusterParts>) => string;
  /** Removes the permission to start a machine from everybody. */
  readonly forbidStart: (fixture: Fixture<ClusterParts>) => void;
}

const on = <P extends ClusterParts>(
  demoCloud: DemoCloud<P>,
  drillCloud: OpenDrillCloud,
  forbidStart: (parts: P) => void,
): OnCloud => {
  const worlds = new WeakMap<object, World<P>>();
  return {
    run: (work, installed = true) =>
      withFixture({ demoCloud, drillCloud, installed }, async (fixture) => {
        const { world, ...rest } = fixture;
        worlds.set(world, world);
        await work({ ...rest, world });
      }),
    powerOf: ({ world, scene }) => {
      const own = worlds.get(world);
      return own ? demoCloud.machine(own, scene.spare).power : 'unknown';
    },
    forbidStart: ({ world }) => {
      const own = worlds.get(world);
      if (own) forbidStart(own.parts);
    },
  };
};

const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
let requests = 0;
const nextRequestId = (): string => `10000000-0000-4000-8000-${String((requests += 1)).padStart(12, '0')}`;

const openAwsDrill: OpenDrillCloud = async (endpoint) =>
  awsDrill([ec2Clients({ region: SANDBOX_REGION, endpoint, credentials })], endpoint);

const onAws = on(awsDemo, openAwsDrill, ({ ec2 }) =>
  addFault(ec2, {
    action: 'StartInstances',
    params: { DryRun: 'true' },
    mishap: { kind: 'error', code: 'UnauthorizedOperation', status: 403 },
  }),
);

const clouds: Readonly<Record<string, OnCloud>> = {
  aws: onAws,
  azure: on(
    azureDemo,
    async (endpoint) => {
      const credential = { getToken: async () => null };
      const polling = { everyMs: 1, times: 1 };
      const clients = azureClients({ subscription: SANDBOX_SUBSCRIPTION, credential, endpoint, polling });
      return azureDrill(clients, { credential, endpoint });
    },
    ({ azure }) => {
      azure.knobs.allowedActions = ['Microsoft.Compute/*/read', 'Microsoft.Compute/*/powerOff/action'];
    },
  ),
  gcp: on(
    gcpDemo,
    async (endpoint) => gcpDrill(computeClients({ newRequestId: nextRequestId, endpoint }), endpoint),
    ({ gce }) => {
      gce.knobs.missingPermissions = ['compute.instances.start'];
    },
  ),
};

/** Everything that a drill creates in a cluster. */
const traces = ({ world }: Fixture<ClusterParts>): readonly string[] =>
  [
    ...listObjects(world, 'statefulsets'),
    ...listObjects(world, 'pods'),
    ...listObjects(world, 'persistentvolumeclaims'),
  ]
    .map(({ metadata }) => metadata.name)
    .filter((name) => name.includes('cloudfence-drill'));

const nodeIsClean = ({ world, node }: Fixture<ClusterParts>): boolean =>
  listObjects(world, 'nodes').some(({ metadata, spec }) => metadata.name === node && (spec.taints ?? []).length === 0);

describe.each(Object.entries(clouds))('a drill on %s', (_name, { run, powerOf, forbidStart }) => {
  it('refuses if the credentials may not start the machine again', () =>
    run(async (fixture) => {
      forbidStart(fixture);
      const result = await fixture.drill();
      expect(result).toMatchObject({ end: 'refused', says: expect.stringMatching(/start/i), stoppedAt: null });
      expect(powerOf(fixture)).toBe('running');
    }, false));

  it('measures how the installed functions react, and leaves nothing behind', () =>
    run(async (fixture) => {
      const volumes = listObjects(fixture.world, 'persistentvolumes').length;
      const result = await fixture.drill();
      expect(result, fixture.progressLines.join('\n')).toMatchObject({
        end: 'recovered',
        left: [],
        movedTo: fixture.scene.nodeOf(fixture.scene.holder),
      });
      const order = result.recovery.map(({ phase }) => phase);
      expect(order).toEqual(['off', 'marked', 'pod-deleted', 'detached', 'attached', 'running']);
      expect(result.restart.map(({ phase }) => phase)).toEqual(['up', 'ready', 'released']);
      expect(traces(fixture)).toEqual([]);
      expect(listObjects(fixture.world, 'persistentvolumes')).toHaveLength(volumes);
      expect(powerOf(fixture)).toBe('running');
      expect(nodeIsClean(fixture)).toBe(true);
      const second = await fixture.drill({ dryRun: true });
      expect(second).toMatchObject({ end: 'refused', says: expect.stringContaining('the cap is reached') });
    }));
});

describe('a drill', () => {
  const { run, powerOf } = onAws;

  it('says that no function reacted, starts the machine, and removes the canary', () =>
    run(async (fixture) => {
      const result = await fixture.drill({ timeout: 120_000 });
      expect(result).toMatchObject({
        end: 'not-recovered',
        says: expect.stringContaining('the Node is marked'),
        left: [],
      });
      expect(powerOf(fixture)).toBe('running');
      expect(traces(fixture)).toEqual([]);
    }, false));

  it('undoes everything when a person interrupts it', () =>
    run(async (fixture) => {
      const tell = (says: string): void => {
        if (says.includes('the cloud says that the machine is off')) fixture.ending.abort(new Error('interrupted'));
      };
      const result = await fixture.drill({}, { tell });
      expect(result).toMatchObject({ end: 'interrupted', left: [] });
      fixture.world.advance(120_000);
      expect(powerOf(fixture)).toBe('running');
      expect(traces(fixture)).toEqual([]);
    }));

  it('names what it leaves, with the commands, if a person also interrupts the cleanup', () =>
    run(async (fixture) => {
      const again = new AbortController();
      const tell = (says: string): void => {
        if (says.includes('the cloud says that the machine is off')) {
          fixture.ending.abort(new Error('interrupted'));
          again.abort(new Error('interrupted again'));
        }
      };
      const result = await fixture.drill({}, { tell, giveUp: again.signal, drill: 'night' });
      expect(result).toMatchObject({ end: 'interrupted', movedTo: null });
      expect(result.left.map(({ remedy }) => remedy)).toEqual([
        `aws ec2 start-instances --instance-ids ${fixture.scene.spare}`,
        `\`cloudfence release ${fixture.node}\` ends a fence once the machine runs`,
        'kubectl -n default delete statefulset,pvc -l cloudfence.dev/drill=night',
        `kubectl label node ${fixture.node} cloudfence.node-restriction.kubernetes.io/drill-reserved-by-`,
      ]);
      expect(result.left.every(({ says }) => says.includes('interrupted again'))).toBe(true);
    }));
});
