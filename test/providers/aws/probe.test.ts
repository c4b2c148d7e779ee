import { describe, expect, it } from 'vitest';
import { PermissionDenied, Unavailable } from '../../../fencing/model/errors.ts';
import { defaultPolicy } from '../../../fencing/model/policy.ts';
import { destructiveCallChecks, probeReads } from '../../../providers/aws/plugin/permissions.ts';
import { addFault, throttled } from '../../../sandbox/ec2/faults.ts';
import { addInstance, addVolume } from '../../../sandbox/ec2/scenario.ts';
import type { Ec2World } from '../../../sandbox/ec2/state.ts';
import { clientsOf, ec2World, patient, region } from '../../sandbox/ec2/ec2-world.ts';

const unauthorized = { kind: 'error', code: 'UnauthorizedOperation', status: 403 } as const;
const notFound = { kind: 'error', code: 'InvalidVolume.NotFound', status: 400 } as const;
const TAG = 'kubernetes.io/cluster/prod';
const tags = {
  instances: [{ key: TAG, values: ['owned', 'shared'] }],
  volumes: [
    { key: TAG, values: ['owned', 'shared'] },
    { key: 'ebs.csi.aws.com/cluster', values: ['true'] },
  ],
};
const powerOff = { ...defaultPolicy, unreachable: 'power-off' } as const;

const holderIn = (world: Ec2World, on: { readonly machine?: object; readonly disk?: object } = {}) => {
  const machine = addInstance(world, { tags: { ...on.machine } });
  return { machine, disk: addVolume(world, { tags: { ...on.disk } }, { instance: machine }) };
};

const tried = (
  world: Ec2World,
  machines: readonly string[],
  policy: typeof defaultPolicy | typeof powerOff = powerOff,
) => destructiveCallChecks({ policy, machines }, { clients: clientsOf(world), region, tags }, patient());

const denying = (world: Ec2World, action: string) =>
  addFault(world.parts.ec2, { times: 99, action, params: { DryRun: 'true' }, mishap: unauthorized });

describe('the probe tries an order in a dry run', () => {
  it('on machines that Nodes name, and changes nothing', async () => {
    const world = ec2World();
    const { machine, disk } = holderIn(world);
    const before = JSON.stringify(world.parts.ec2.volumes);
    expect(await tried(world, [machine])).toEqual([
      {
        what: 'may detach disks',
        verdict: 'ok',
        says: `EC2 would allow ec2:DetachVolume; tried on ${disk} of ${machine}`,
      },
      {
        what: 'may power off machines',
        verdict: 'ok',
        says: `EC2 would allow ec2:StopInstances; tried on ${machine}`,
      },
    ]);
    expect(JSON.stringify(world.parts.ec2.volumes)).toBe(before);
  });

  it.each([
    ['DetachVolume', 0, /EC2 denies ec2:DetachVolume on vol-\w+ of i-\w+: .*disk that Kubernetes does not detach/],
    ['StopInstances', 1, /EC2 denies ec2:StopInstances on i-\w+: .*power-off/],
  ])('%s that is denied is a failure, with an explanation', async (action, at, words) => {
    const world = ec2World();
    const { machine } = holderIn(world, { machine: { [TAG]: 'owned' }, disk: { [TAG]: 'owned' } });
    denying(world, action);
    const verdicts = await tried(world, [machine]);
    expect(verdicts[at]).toMatchObject({ verdict: 'fail', says: expect.stringMatching(words) });
    expect(verdicts[1 - at]).toMatchObject({ verdict: 'ok' });
  });

  it('names the missing tag and the resource that lacks it', async () => {
    const world = ec2World();
    const { machine, disk } = holderIn(world, { machine: { [TAG]: 'shared' } });
    denying(world, 'DetachVolume');
    const [detach] = await tried(world, [machine]);
    expect(detach).toMatchObject({
      verdict: 'fail',
      says: expect.stringContaining(
        `${disk} does not have the tag ${TAG}=owned|shared or ebs.csi.aws.com/cluster=true; the permission depends on that tag`,
      ),
    });
    expect(detach?.says).not.toContain(`${machine} does not have the tag`);
  });

  it('omits a call that the policy does not allow Cloudfence to make', async () => {
    const world = ec2World();
    expect(await tried(world, [holderIn(world).machine], { ...defaultPolicy, detach: 'never' })).toEqual([]);
  });

  it('proves nothing if the call for a missing resource is denied, because that resource has no tag', async () => {
    const world = ec2World();
    denying(world, 'DetachVolume');
    expect(await tried(world, [addInstance(world)])).toMatchObject([
      { verdict: 'warn', says: expect.stringMatching(/depends on a tag/) },
      { verdict: 'ok' },
    ]);
    const open = ec2World();
    addFault(open.parts.ec2, { times: 9, action: 'DetachVolume', mishap: notFound });
    expect(await tried(open, [])).toMatchObject([{ verdict: 'ok' }, { verdict: 'ok' }]);
  });

  it('does not treat an error as an answer', async () => {
    const world = ec2World();
    const { machine } = holderIn(world);
    addFault(world.parts.ec2, { times: 9, action: 'DetachVolume', mishap: throttled });
    await expect(tried(world, [machine])).rejects.toThrow(Unavailable);
  });
});

it('does not treat a denied read as an answer', async () => {
  const world = ec2World();
  addFault(world.parts.ec2, { times: 9, action: 'DescribeVolumes', mishap: unauthorized });
  await expect(probeReads(clientsOf(world), region, patient())).rejects.toThrow(PermissionDenied);
});
