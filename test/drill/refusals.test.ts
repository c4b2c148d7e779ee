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
import { type Rig, withRig } from './rig.ts';

/** Each state in which a machine must not be stopped. The drill then creates nothing and stops nothing. */

const canary = { namespace: 'default', image: 'example.org/pause:1', storageClass: null };
const checks = { policy: defaultPolicy, suspendedGroup: null };

interface Case {
  readonly says: RegExp;
  readonly spoils?: (rig: Rig<AwsParts>) => void;
  readonly changed?: (rig: Rig<AwsParts>) => Partial<DrillOptions>;
}

const changeNode = (rig: Rig<AwsParts>, name: string, edit: Parameters<ReturnType<typeof writerAs>['change']>[2]) => {
  const node = getObject(rig.world, 'nodes', name);
  if (node) writerAs(rig.world, 'admin').change('nodes', node, edit);
};

const retag = ({ world, scene }: Rig<AwsParts>, tags: Readonly<Record<string, string>>): void => {
  const instance = instanceIn(world, scene.spare);
  if (instance) change(world, instance, { tags });
};

/** The cloud gives the machine the name of another Node. */
const rename = ({ world, scene }: Rig<AwsParts>, tags: Readonly<Record<string, string>>): void => {
  const instance = instanceIn(world, scene.spare);
  if (instance) change(world, instance, { privateDnsName: 'db-7', tags });
};

const other = ({ scene }: Rig<AwsParts>): string => scene.nodeOf(scene.holder);

const cases: Readonly<Record<string, Case>> = {
  'a Node without the label': {
    says: /not labelled for drills/,
    spoils: ({ label }) => label({ 'cloudfence.node-restriction.kubernetes.io/drill': 'no' }),
  },
  'a Node with volumes': {
    says: /default\/db-0 .* uses claim data-db-0.* other volumes are attached/,
    changed: (rig) => ({ target: { node: other(rig), machine: rig.scene.holder } }),
  },
  'a machine that the Node does not name': {
    says: /more than one Node names|it is not proven|does not name/,
    changed: (rig) => ({ target: { node: rig.node, machine: rig.scene.holder } }),
  },
  'a Node that only a label of its kubelet allows': {
    says: /not labelled for drills/,
    spoils: ({ label }) =>
      label({ 'cloudfence.node-restriction.kubernetes.io/drill': 'no', 'cloudfence.dev/drill': 'allowed' }),
  },
  'a machine that only the kubelet of the Node names': {
    says: /does not confirm that i-.* is Node .* of cluster .*it would be Node db-7, .*it has no tag of a cluster/,
    spoils: (rig) => rename(rig, {}),
  },
  'a machine whose tag names another cluster': {
    says: /does not confirm that i-.*its tags name elsewhere/,
    spoils: (rig) => rename(rig, { 'kubernetes.io/cluster/elsewhere': 'owned' }),
  },
  'a Node that is not Ready': {
    says: /is not Ready/,
    spoils: (rig) => {
      rig.world.parts.cluster.knobs.partitioned.push(rig.node);
      rig.world.advance(120_000);
    },
  },
  'a pod that nothing creates again': {
    says: /no controller would create default\/lonely/,
    spoils: ({ world, node }) => void addBarePod(world, { name: 'lonely', spec: { nodeName: node } }),
  },
  'a Node without another one in its zone': {
    says: /no other Node in the zone/,
    spoils: (rig) =>
      changeNode(
        rig,
        other(rig),
        (draft) => void ('spec' in draft && Object.assign(draft.spec, { unschedulable: true })),
      ),
  },
  'a cordoned Node': {
    says: /takes no new pods: it is cordoned/,
    spoils: (rig) =>
      changeNode(
        rig,
        rig.node,
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
    spoils: (rig) => retag(rig, { 'aws:autoscaling:groupName': 'workers' }),
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
    spoils: (rig) => retag(rig, { 'karpenter.sh/nodeclaim': 'default-x' }),
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

const onAws = (work: (rig: Rig<AwsParts>) => Promise<void>): Promise<void> =>
  withRig(
    {
      demoCloud,
      drillCloud: async (endpoint) =>
        awsDrill([ec2Clients({ region: SANDBOX_REGION, endpoint, credentials })], endpoint),
      installed: false,
    },
    work,
  );

it.each(Object.entries(cases))('a drill refuses %s', (_name, { says, spoils, changed }) =>
  onAws(async (rig) => {
    spoils?.(rig);
    const result = await rig.drill(changed?.(rig));
    expect(result).toMatchObject({ end: 'refused', left: [], stoppedAt: null });
    expect(result.says).toMatch(says);
    expect(getObject(rig.world, 'statefulsets', 'cloudfence-drill', 'default')).toBeUndefined();
    expect(instanceIn(rig.world, rig.scene.spare)?.state).toBe('running');
  }),
);

it('a drill does not refuse a group whose replacement is suspended, or anything in a dry run that is in order', () =>
  onAws(async (rig) => {
    retag(rig, { 'aws:autoscaling:groupName': 'workers' });
    const result = await rig.drill({ dryRun: true, checks: { ...checks, suspendedGroup: 'workers' } });
    expect(result).toMatchObject({ end: 'checked', left: [], stoppedAt: null });
  }));

it('a drill accepts the tag of the cluster if the cloud knows no name of the Node', () =>
  onAws(async (rig) => {
    const { name } = rig.cluster;
    rename(rig, { [`kubernetes.io/cluster/${name}`]: 'owned' });
    expect(await rig.drill({ dryRun: true })).toMatchObject({ end: 'checked' });
  }));

it('a drill reads the names that EC2 gives to the machine, and ignores one that only repeats its id', () =>
  onAws(async (rig) => {
    const { facts } = await rig.drill({ dryRun: true });
    expect(facts?.machine.nodeNames).toContain(`${rig.scene.spare}.eu-west-1.compute.internal`);
    expect(facts?.drilledMachine.nodeNames).toEqual([rig.node]);
  }));

it('a drill does nothing if the person does not type the name', () =>
  onAws(async (rig) => {
    expect(await rig.drill({}, { confirm: async () => false })).toMatchObject({ end: 'declined', stoppedAt: null });
  }));

it('a drill stops nothing if a pod with a volume arrives before the stop', () =>
  onAws(async (rig) => {
    const tell = (says: string): void => {
      if (says.startsWith('stops'))
        addBarePod(rig.world, {
          name: 'late',
          spec: { nodeName: rig.node, volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'unknown' } }] },
        });
    };
    const result = await rig.drill({}, { tell });
    expect(result).toMatchObject({ end: 'failed', left: [], stoppedAt: null });
    expect(result.says).toMatch(/nothing was stopped: .*late/);
    expect(rig.world.parts.ec2.events.some(({ detail }) => detail.state === 'stopping')).toBe(false);
    expect(getObject(rig.world, 'statefulsets', 'cloudfence-drill', 'default')).toBeUndefined();
  }));
