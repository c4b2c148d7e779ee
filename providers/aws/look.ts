import {
  type EC2Client,
  type Instance,
  paginateDescribeInstances,
  paginateDescribeVolumes,
  type Volume,
} from '@aws-sdk/client-ec2';
import type { MachineFacts, MachineId } from '../../fencing/model/machine.ts';
import { limitPages } from '../../transport/answers.ts';
import { askSkippingBadIds, chunksOf, requireList, requireAttachments } from './client.ts';
import { withCloudfenceErrors } from './errors.ts';
import { missingMachineFacts, knownMachineFacts, unknownMachineFacts } from './power.ts';

/** Reads instances for a look, many in one call. */

/** EC2's answer about one id. */
type InstanceLookup =
  | { readonly machine: MachineId; readonly is: 'seen'; readonly instance: Instance; readonly requestId: string }
  | { readonly machine: MachineId; readonly is: 'not-found' | 'malformed' };

/**
 * The number of ids in one call. It is small enough that one invalid id causes few additional calls, and is within
 * EC2's limit of 200 filter values.
 */
const AT_ONCE = 100;

/** The maximum number of pages. A hundred instances have at most 128 volumes each, which need some tens of pages. */
const MOST_PAGES = 100;

const BAD_IDS = new Set(['InvalidInstanceID.NotFound', 'InvalidInstanceID.Malformed']);

/**
 * Reads the facts of the machines. The look answers for all machines or for none.
 *
 * @throws Unavailable, PermissionDenied, Refused
 */
export const lookAtMachines = async (
  client: EC2Client,
  region: string,
  machines: readonly MachineId[],
  scope: { readonly disks: boolean },
  signal: AbortSignal,
): Promise<readonly MachineFacts[]> => {
  const facts: MachineFacts[] = [];
  for (const ids of chunksOf([...new Set(machines)], AT_ONCE)) {
    const [lookups, volumes] = await Promise.all([
      withCloudfenceErrors('ec2:DescribeInstances', () => lookUpAll(client, ids, signal)),
      scope.disks ? withCloudfenceErrors('ec2:DescribeVolumes', () => volumesOn(client, ids, signal)) : [],
    ]);
    facts.push(...ids.map((id) => factsOf(id, lookups, region, scope.disks ? volumes : null)));
  }
  return facts;
};

/**
 * Returns the facts of one machine. EC2 names an unknown id in an error. An instance that is absent from an answer, or
 * listed twice, is not missing, because EC2 has not said that it does not exist.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstances.html
 */
const factsOf = (
  id: MachineId,
  all: readonly InstanceLookup[],
  region: string,
  volumes: readonly Volume[] | null,
): MachineFacts => {
  const [lookup, ...more] = all.filter((one) => one.machine === id);
  if (!lookup || more.length > 0) return unknownMachineFacts(id, lookup ? 'contradictory' : 'not in the answer');
  switch (lookup.is) {
    case 'seen':
      return knownMachineFacts(lookup.instance, id, { region, requestId: lookup.requestId, volumes });
    case 'not-found':
      return missingMachineFacts(id, volumes);
    case 'malformed':
      return unknownMachineFacts(id, 'malformed id');
  }
};

const lookUpAll = (
  client: EC2Client,
  ids: readonly MachineId[],
  signal: AbortSignal,
): Promise<readonly InstanceLookup[]> =>
  askSkippingBadIds<InstanceLookup>(ids, (some) => describe(client, some, signal), {
    codes: BAD_IDS,
    verdict: (machine, code) => ({ machine, is: code === 'InvalidInstanceID.Malformed' ? 'malformed' : 'not-found' }),
  });

const describe = async (
  client: EC2Client,
  ids: readonly MachineId[],
  signal: AbortSignal,
): Promise<readonly InstanceLookup[]> => {
  const lookups: InstanceLookup[] = [];
  for await (const page of limitPages(
    paginateDescribeInstances({ client }, { InstanceIds: [...ids] }, { abortSignal: signal }),
    MOST_PAGES,
    'ec2:DescribeInstances',
  )) {
    const requestId = page.$metadata.requestId ?? '';
    for (const instance of requireList(page.Reservations, 'ec2:DescribeInstances').flatMap(
      (reservation) => reservation.Instances ?? [],
    )) {
      if (instance.InstanceId !== undefined)
        lookups.push({ machine: instance.InstanceId, is: 'seen', instance, requestId });
    }
  }
  return lookups;
};

/** Returns the volumes that report an attachment to one of these instances. */
const volumesOn = async (
  client: EC2Client,
  ids: readonly MachineId[],
  signal: AbortSignal,
): Promise<readonly Volume[]> => {
  const volumes: Volume[] = [];
  const filter = { Filters: [{ Name: 'attachment.instance-id', Values: [...ids] }] };
  for await (const page of limitPages(
    paginateDescribeVolumes({ client }, filter, { abortSignal: signal }),
    MOST_PAGES,
    'ec2:DescribeVolumes',
  ))
    volumes.push(...requireAttachments(page.Volumes));
  return volumes;
};
