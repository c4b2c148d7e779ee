import { XMLBuilder } from 'fast-xml-parser';
import type { Attachment, Instance, InstanceState, Volume } from './state.ts';
import { attachmentTo } from './state.ts';

/** EC2's objects as XML. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/ */

export interface Tree {
  readonly [name: string]: string | number | boolean | Tree | readonly Tree[];
}

const NAMESPACE = 'http://ec2.amazonaws.com/doc/2016-11-15/';
const builder = new XMLBuilder({ ignoreAttributes: false, attributeNamePrefix: '@' });
const HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n';

export const answerXml = (action: string, requestId: string, tree: Tree): string =>
  HEAD + builder.build({ [`${action}Response`]: { '@xmlns': NAMESPACE, requestId, ...tree } });

export const errorXml = (code: string, message: string, requestId: string): string =>
  HEAD + builder.build({ Response: { Errors: { Error: { Code: code, Message: message } }, RequestID: requestId } });

export const xmlList = (items: readonly Tree[]): Tree => ({ item: items });

const CODES: Readonly<Record<InstanceState, number>> = {
  pending: 0,
  running: 16,
  'shutting-down': 32,
  terminated: 48,
  stopping: 64,
  stopped: 80,
};

export const stateTree = (state: InstanceState): Tree => ({ code: CODES[state], name: state });

const time = (moment: number): string => new Date(Math.floor(moment / 1000) * 1000).toISOString();

/** A state change in the response of stop, start, and terminate. */
export const changeTree = (before: Instance, after: Instance): Tree => ({
  instanceId: after.id,
  currentState: stateTree(after.state),
  previousState: stateTree(before.state),
});

export const instanceTree = (instance: Instance, volumes: readonly Volume[]): Tree => ({
  instanceId: instance.id,
  instanceType: instance.type,
  instanceState: stateTree(instance.state),
  privateDnsName: instance.privateDnsName,
  ...(instance.privateIp ? { privateIpAddress: instance.privateIp } : {}),
  reason: instance.transitionReason,
  ...(instance.stateReason ? { stateReason: { ...instance.stateReason } } : {}),
  launchTime: time(instance.launchTime),
  placement: { availabilityZone: instance.zone },
  rootDeviceType: 'ebs',
  rootDeviceName: instance.rootDevice,
  blockDeviceMapping: xmlList(volumes.flatMap((volume) => mappingTree(volume, attachmentTo(volume, instance.id)))),
  tagSet: xmlList(Object.entries(instance.tags).map(([key, value]) => ({ key, value }))),
  hibernationOptions: { configured: instance.canHibernate },
  ...(instance.spot && { instanceLifecycle: 'spot' }),
  operator: { managed: instance.managed },
});

const mappingTree = (volume: Volume, attachment: Attachment | undefined): readonly Tree[] =>
  attachment
    ? [
        {
          deviceName: attachment.device,
          ebs: {
            volumeId: volume.id,
            status: attachment.state === 'busy' ? 'detaching' : attachment.state,
            attachTime: time(attachment.at),
            deleteOnTermination: attachment.deleteOnTermination,
          },
        },
      ]
    : [];

export const attachmentTree = (volume: string, attachment: Attachment): Tree => ({
  volumeId: volume,
  instanceId: attachment.instance,
  device: attachment.device,
  status: attachment.state,
  attachTime: time(attachment.at),
  deleteOnTermination: attachment.deleteOnTermination,
});

export const volumeTree = (volume: Volume): Tree => ({
  volumeId: volume.id,
  availabilityZone: volume.zone,
  status: volume.attachments.length > 0 ? 'in-use' : 'available',
  createTime: time(volume.createdAt),
  multiAttachEnabled: volume.multiAttach,
  operator: { managed: volume.managed },
  attachmentSet: xmlList(volume.attachments.map((attachment) => attachmentTree(volume.id, attachment))),
  tagSet: xmlList(Object.entries(volume.tags).map(([key, value]) => ({ key, value }))),
});
