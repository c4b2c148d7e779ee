import { XMLBuilder } from 'fast-xml-parser';
import { type Answered, openStandIn, type Request, type StandIn } from '../../providers/stand-in.ts';
import type { SharedDisks } from './shared-disks.ts';
import { sharedDisks } from './shared-disks.ts';
import { volumesIn, withAttachments } from './volume-set.ts';

interface Answer {
  readonly status: number;
  readonly xml: string;
}

type Forward = (params: URLSearchParams) => Promise<Answer>;

const valuesOf = (params: URLSearchParams, name: string): readonly string[] =>
  [...params].filter(([key]) => key.startsWith(`${name}.`)).map(([, value]) => value);

/** The instances about which a look at volumes asks. Null if it asks about something else. */
const askedInstances = (params: URLSearchParams): readonly string[] | null => {
  const at = [...params].find(
    ([key, value]) => /^Filter\.\d+\.Name$/.test(key) && value === 'attachment.instance-id',
  )?.[0];
  return at === undefined ? null : valuesOf(params, at.replace('Name', 'Value'));
};

/** Moto does not find a shared volume by its instances, so those volumes are requested by ID. */
const describeVolumes = async (params: URLSearchParams, disks: SharedDisks, forward: Forward): Promise<Answer> => {
  const answer = await forward(params);
  if (answer.status !== 200) return answer;
  const held = disks.heldBy(askedInstances(params) ?? []);
  const byId = new URLSearchParams({
    Action: 'DescribeVolumes',
    Version: params.get('Version') ?? '',
    ...Object.fromEntries(held.map((id, at) => [`VolumeId.${at + 1}`, id])),
  });
  const more = held.length === 0 ? [] : volumesIn((await forward(byId)).xml);
  return { status: 200, xml: withAttachments(answer.xml, more, disks.attachmentsOf) };
};

const createVolume = async (params: URLSearchParams, disks: SharedDisks, forward: Forward): Promise<Answer> => {
  const answer = await forward(params);
  const [, id] = /<volumeId>([^<]+)/.exec(answer.xml) ?? [];
  if (params.get('MultiAttachEnabled') === 'true' && id !== undefined) disks.add(id);
  return answer;
};

const changed = (action: string, refusal: string | null): Answer => {
  const said =
    refusal === null
      ? { [`${action}Response`]: { requestId: 'multi-attach' } }
      : { Response: { Errors: { Error: { Code: refusal, Message: refusal } }, RequestID: 'multi-attach' } };
  return { status: refusal === null ? 200 : 400, xml: new XMLBuilder().build(said) };
};

const answerTo = (params: URLSearchParams, disks: SharedDisks, forward: Forward): Promise<Answer> | Answer => {
  const action = params.get('Action') ?? '';
  const [volume, instance] = [params.get('VolumeId') ?? '', params.get('InstanceId') ?? ''];
  if (action === 'DescribeVolumes') return describeVolumes(params, disks, forward);
  if (action === 'CreateVolume') return createVolume(params, disks, forward);
  if (!disks.has(volume)) return forward(params);
  if (action === 'AttachVolume') return changed(action, disks.attach(volume, instance, params.get('Device') ?? ''));
  if (action === 'DetachVolume') return changed(action, disks.detach(volume, instance));
  return forward(params);
};

const answered = async (upstream: string, disks: SharedDisks, { authorization, body }: Request): Promise<Answered> => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', authorization: authorization ?? '' };
  const forward: Forward = async (params) => {
    const answer = await fetch(upstream, { method: 'POST', headers, body: params.toString() });
    return { status: answer.status, xml: await answer.text() };
  };
  const { status, xml } = await answerTo(new URLSearchParams(body.toString()), disks, forward);
  return { status, headers: { 'content-type': 'text/xml' }, body: xml };
};

/**
 * Opens EC2's Multi-Attach, which moto lacks: volumes that several instances use at once. It sits in front of the
 * server that answers about all other volumes.
 * https://docs.aws.amazon.com/ebs/latest/userguide/ebs-volumes-multi.html
 */
export const openMultiAttach = async (upstream: string): Promise<StandIn> => {
  const disks = sharedDisks();
  return await openStandIn((request) => answered(upstream, disks, request));
};
