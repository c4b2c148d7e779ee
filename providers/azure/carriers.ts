import type { UnservedPlace } from '../../fencing/cloud.ts';
import type { IdentityCarrier, MachineId } from '../../fencing/machine.ts';
import { machinePath } from './ids.ts';

/** `azure:///subscriptions/…`, or the bare id. https://github.com/kubernetes-sigs/cloud-provider-azure */
const PREFIX = /^azure:\/\//i;

/** The machine that a carrier names. Only the providerID does: Azure's CSI drivers write the Node's own name, which says nothing. */
export const machineOf = ({ carrier, value }: IdentityCarrier): MachineId | null => {
  switch (carrier) {
    case 'providerID':
      return machinePath(value.replace(PREFIX, ''))?.id ?? null;
    case 'systemUUID':
    case 'instanceIdAnnotation':
    case 'csiNode':
    case 'nodeIdAnnotation':
    case 'volumeAttachment':
      return null;
  }
};

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The first three groups with their bytes the other way round: so older SMBIOS versions give them to the guest.
 * https://github.com/Azure/WALinuxAgent/issues/830
 */
const swapped = (uuid: string): string =>
  uuid
    .split('-')
    .map((group, index) => (index < 3 ? (group.match(/../g) ?? []).toReversed().join('') : group))
    .join('-');

/** A guest knows its vmId as its system UUID, in one of two byte orders that cannot be told apart. */
export const incarnationsOf = ({ carrier, value }: IdentityCarrier): readonly string[] => {
  const id = value.toLowerCase();
  if (!UUID.test(id)) return [];
  switch (carrier) {
    case 'systemUUID':
      return [...new Set([id, swapped(id)])];
    case 'instanceIdAnnotation':
      return [id];
    case 'providerID':
    case 'csiNode':
    case 'nodeIdAnnotation':
    case 'volumeAttachment':
      return [];
  }
};

/** A providerID names the subscription. */
export const unservedPlace = ({ carrier, value }: IdentityCarrier, served: string): UnservedPlace | null => {
  const subscription = carrier === 'providerID' ? machinePath(value.replace(PREFIX, ''))?.subscription : undefined;
  if (subscription === undefined || subscription === served.toLowerCase()) return null;
  return { place: `the subscription ${subscription}`, mend: `install Cloudfence for it, with AZURE_SUBSCRIPTION_ID=${subscription}` };
};
