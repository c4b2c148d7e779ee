import { expect, it } from 'vitest';
import { demoCloud } from '../../demo/aws-cloud.ts';
import type { DrillOptions } from '../../drill/tools.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { awsDrill } from '../../providers/aws/drill.ts';
import { ec2Clients } from '../../providers/aws/client.ts';
import { SANDBOX_REGION, type AwsParts } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBarePod } from '../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { addFault } from '../../sandbox/ec2/faults.ts';
import { change } from '../../sandbox/ec2/instances.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import { type Fixture, withFixture } from './fixture.ts';

/** Each state in which a machine must not be stopped. The drill then creates nothing and stops nothing. */

const canary = { namespace: 'default', image: 'example.org/pause:1', storageClass: null };
const checks = { policy: defaultPolicy, suspendedGroup: null };

interface Case {
  readonly says: RegExp;
  readonly spoils?: (fixture: Fixture<AwsParts>) => void;
  readonly changed?: (fixture: Fixture<AwsParts>) => Partial<DrillOptions>;
}

const changeNode = (
  fixture: Fixture<AwsParts>,
  name: string,
  edit: Parameters<ReturnType<typeof writerAs>['change']>[2],
) => {
  const node = getObject(fixture.world, 'nodes', name);
  if (node) writerAs(fixture.world, 'admin').change('nodes', node, edit);
};

const retag = ({ world, scene }: Fixture<AwsParts>, tags: Readonly<Record<string, string>>): void => {
  const instance = instanceIn(world, scene.spare);
  if (instance) change(world, instance, { tags });
};

/** The cloud gives the machine the name of another Node. */
const rename = ({ world, scene }: Fixture<AwsParts>, tags: Readonly<Record<string, string>>): void => {
  const instance = instanceIn(world, scene.spare);
  if (instance) change(world, instance, { privateDnsName: 'db-7', tags });
};

const other = ({ scene }: Fixture<AwsParts>): string => scene.nodeOf(scene.holder);

const cases: Readonly<Record<string, Case>> = {
  'a Node without the label': {
    says: /not labelled for drills/,
    spoils: ({ label }) => label({ 'cloudfence.node-restriction.kubernetes.io/drill': 'no' }),
  },
  'a Node with volumes': {
    says: /default\/db-0 .* uses claim data-db-0.* other volumes are attached/,
    changed: (fixture) => ({ target: { node: other(fixture), machine: fixture.scene.holder } }),
  },
  'a machine that the Node does not name': {
    says: /more than one Node names|it is not proven|does not name/,
    changed: (fixture) => ({ target: { node: fixture.node, machine: fixture.scene.holder } }),
  },
  'a Node that only a label of its kubelet allows': {
    says: /not labelled for drills/,
    spoils: ({ label }) =>
      label({ 'cloudfence.node-restriction.kubernetes.io/drill': 'no', 'cloudfence.dev/drill': 'allowed' }),
  },
  'a machine that only the kubelet of the Node names': {
    says: /does not confirm that i-.* is Node .* of cluster .*it would be Node db-7, .*it has no tag of a cluster/,
    spoils: (fixture) => rename(fixture, {}),
  },
  'a machine whose tag names another cluster': {
    says: /does not confirm that i-.*its tags name elsewhere/,
    spoils: (fixture) => rename(fixture, { 'kubernetes.io/cluster/elsewhere': 'owned' }),
  },
  'a Node that is not Ready': {
    says: /is not Ready/,
    spoils: (fixture) => {
      fixture.world.parts.cluster.knobs.partitioned.push(fixture.node);
      fixture.world.advance(120_000);
    },
  },
  'a pod that nothing creates again': {
    says: /no controller would create default\/lonely/,
    spoils: ({ world, node }) => void addBarePod(world, { name: 'lonely', spec: { nodeName: node } }),
  },
  'a Node without another one in its zone': {
    says: /no other Node in the zone/,
    spoils: (fixture) =>
      changeNode(
        fixture,
        other(fixture),
        (draft) => void ('spec' in draft && Object.assign(draft.spec, { unschedulable: true })),
      ),
  },
  'a cordoned Node': {
    says: /takes no new pods: it is cordoned/,
    spoils: (fixture) =>
      changeNode(
        fixture,
        fixture.node,
        (draft) => void ('spec' in draft && Object.assign(draft.spec, { unschedulable: true })),
      ),
  },
  'a pause': {
    says: /is paused, so nothing would happen: maintenance/,
    changed: () => ({ checks: { ...checks, policy: { ...defaultPolicy, paused: 'maintenance' } } }),
  },
  'shadow mode': {
    says: /shadow mode/,
    changed: () => ({ checks: { ...checks, policy: { ...defaultPolicy, shadow: true } } }),
  },
  'a Node that is opted out': {
    says: /is opted out by its label/,
    spoils: ({ label }) => label({ 'cloudfence.node-restriction.kubernetes.io/opt-out': 'gpu' }),
  },
  'a cluster without the ledger': {
    says: /no ledger of fences/,
    spoils: ({ world }) => {
      const ledger = getObject(world, 'configmaps', 'cloudfence-ledger', 'kube-system');
      if (ledger) writerAs(world, 'admin').remove('configmaps', ledger);
    },
  },
  'a machine of an Auto Scaling group': {
    says: /the Auto Scaling group workers replaces i-/,
    spoils: (fixture) => retag(fixture, { 'aws:autoscaling:groupName': 'workers' }),
  },
  'a machine with an instance store': {
    says: /is a m6id.large, whose instance-store volumes lose their data in a stop/,
    spoils: ({ world, scene }) => {
      const instance = instanceIn(world, scene.spare);
      if (instance) change(world, instance, { type: 'm6id.large' });
    },
  },
  'a machine of which the credentials may not ask whether it has an instance store': {
    says: /not known whether i-.* \(m6i.large\) has instance-store volumes: ec2:DescribeInstanceTypes/,
    spoils: ({ world }) =>
      addFault(world.parts.ec2, {
        action: 'DescribeInstanceTypes',
        mishap: { kind: 'error', code: 'UnauthorizedOperation', status: 403 },
      }),
  },
  'a Node that another drill has reserved': {
    says: /another drill \(night\) has reserved Node/,
    spoils: ({ label }) => label({ 'cloudfence.node-restriction.kubernetes.io/drill-reserved-by': 'night' }),
  },
  'a machine of Karpenter': {
    says: /Karpenter manages i-/,
    spoils: (fixture) => retag(fixture, { 'karpenter.sh/nodeclaim': 'default-x' }),
  },
  'no default StorageClass': {
    says: /no default StorageClass/,
    spoils: ({ world }) => {
      const found = getObject(world, 'storageclasses', 'standard');
      if (found) writerAs(world, 'admin').remove('storageclasses', found);
    },
  },
  'an unknown StorageClass': {
    says: /there is no StorageClass fast/,
    changed: () => ({ canary: { ...canary, storageClass: 'fast' } }),
  },
};

const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };

const onAws = (work: (fixture: Fixture<AwsParts>) => Promise<void>): Promise<void> =>
  withFixture(
    {
      demoCloud,
      drillCloud: async (endpoint) =>
        awsDrill([ec2Clients({ region: SANDBOX_REGION, endpoint, credentials })], endpoint),
      installed: false,
    },
    work,
  );

it.each(Object.entries(cases))('a drill refuses %s', (_name, { says, spoils, changed }) =>
  onAws(async (fixture) => {
    spoils?.(fixture);
    const result = await fixture.drill(changed?.(fixture));
    expect(result).toMatchObject({ end: 'refused', left: [], stoppedAt: null });
    expect(result.says).toMatch(says);
    expect(getObject(fixture.world, 'statefulsets', 'cloudfence-drill', 'default')).toBeUndefined();
    expect(instanceIn(fixture.world, fixture.scene.spare)?.state).toBe('running');
  }),
);

it('a drill does not refuse a group whose replacement is suspended, or anything in a dry run that is in order', () =>
  onAws(async (fixture) => {
    retag(fixture, { 'aws:autoscaling:groupName': 'workers' });
    const result = await fixture.drill({ dryRun: true, checks: { ...checks, suspendedGroup: 'workers' } });
    expect(result).toMatchObject({ end: 'checked', left: [], stoppedAt: null });
  }));

it('a drill accepts the tag of the cluster if the cloud knows no name of the Node', () =>
  onAws(async (fixture) => {
    const { name } = fixture.cluster;
    rename(fixture, { [`kubernetes.io/cluster/${name}`]: 'owned' });
    expect(await fixture.drill({ dryRun: true })).toMatchObject({ end: 'checked' });
  }));

it('a drill reads the names that EC2 gives to the machine, and ignores one that only repeats its id', () =>
  onAws(async (fixture) => {
    const { facts } = await fixture.drill({ dryRun: true });
    expect(facts?.machine.nodeNames).toContain(`${fixture.scene.spare}.eu-west-1.compute.internal`);
    expect(facts?.drilledMachine.nodeNames).toEqual([fixture.node]);
  }));

it('a drill does nothing if the person does not type the name', () =>
  onAws(async (fixture) => {
    expect(await fixture.drill({}, { confirm: async () => false })).toMatchObject({ end: 'declined', stoppedAt: null });
  }));

it('a drill stops nothing if a pod with a volume arrives before the stop', () =>
  onAws(async (fixture) => {
    const tell = (says: string): void => {
      if (says.startsWith('stops'))
        addBarePod(fixture.world, {
          name: 'late',
          spec: {
            nodeName: fixture.node,
            volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'unknown' } }],
          },
        });
    };
    const result = await fixture.drill({}, { tell });
    expect(result).toMatchObject({ end: 'failed', left: [], stoppedAt: null });
    expect(result.says).toMatch(/nothing was stopped: .*late/);
    expect(fixture.world.parts.ec2.events.some(({ detail }) => detail.state === 'stopping')).toBe(false);
    expect(getObject(fixture.world, 'statefulsets', 'cloudfence-drill', 'default')).toBeUndefined();
  }));
