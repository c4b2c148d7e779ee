import { DescribeInstancesCommand, type EC2Client, type Tag } from '@aws-sdk/client-ec2';
import { translated } from './errors.ts';
import type { OrderTarget } from './probe.ts';
import { volumesById } from './volumes-by-id.ts';

/** A tag of which one of these values is wanted. */
export interface WantedTag {
  readonly key: string;
  readonly values: readonly string[];
}

/** What the permissions of a role hang on: of each list one tag is enough. */
export interface TagRule {
  readonly instances: readonly WantedTag[];
  readonly volumes: readonly WantedTag[];
}

const bearsOne = (tags: readonly Tag[], wanted: readonly WantedTag[]): boolean =>
  wanted.length === 0 || wanted.some(({ key, values }) => tags.some(({ Key, Value }) => Key === key && Value !== undefined && values.includes(Value)));

const inWords = (wanted: readonly WantedTag[]): string => wanted.map(({ key, values }) => `${key}=${values.join('|')}`).join(' or ');

const said = (id: string, tags: readonly Tag[], wanted: readonly WantedTag[]): readonly string[] => (bearsOne(tags, wanted) ? [] : [`${id} bears no tag ${inWords(wanted)}`]);

/** Which tags are missing on a machine and its disk, in words; none, where tags are not why. @throws Unavailable, Denied, Refused */
export const missingTags = async (client: EC2Client, { machine, disk }: OrderTarget, { instances, volumes }: TagRule, signal: AbortSignal): Promise<readonly string[]> => {
  const answer = await translated('ec2:DescribeInstances', () => client.send(new DescribeInstancesCommand({ InstanceIds: [machine] }), { abortSignal: signal }));
  const found = answer.Reservations?.flatMap(({ Instances = [] }) => Instances) ?? [];
  const [volume] = await volumesById(client, [disk], signal);
  return [...said(machine, found.flatMap(({ Tags = [] }) => Tags), instances), ...said(disk, volume?.Tags ?? [], volumes)];
};
