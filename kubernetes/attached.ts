import type { V1VolumeAttachment } from '@kubernetes/client-node/dist/gen/index.js';
import type { IdentityCarrier } from '../fencing/machine.ts';
import { attachmentPages } from './attachments-of.ts';
import { attachmentCarrier } from './carriers.ts';
import type { Reader } from './connection.ts';

/** Attachments to one Node that tell the same of its machine, by name; a null carrier tells nothing. */
export interface Attached {
  readonly carrier: IdentityCarrier | null;
  readonly names: readonly string[];
}

interface Noted {
  readonly carrier: IdentityCarrier | null;
  readonly names: string[];
}

type ByNode = ReadonlyMap<string, readonly Attached[]>;

const note = (found: Map<string, Map<string, Noted>>, attachment: V1VolumeAttachment): void => {
  const { nodeName } = attachment.spec;
  const carrier = attachmentCarrier(attachment);
  const key = carrier ? `${carrier.driver} ${carrier.value}` : '';
  const noted = found.get(nodeName) ?? new Map<string, Noted>();
  const same = noted.get(key) ?? { carrier, names: [] };
  same.names.push(attachment.metadata?.name ?? '');
  found.set(nodeName, noted.set(key, same));
};

/** Of the Nodes that are sure only one id a driver is kept: enough to see that another one is noted under the same name. */
const watchful = () => {
  const ids = new Map<string, string>();
  const contested = new Set<string>();
  const watch = (attachment: V1VolumeAttachment): void => {
    const carrier = attachmentCarrier(attachment);
    if (!carrier) return;
    const key = `${attachment.spec.nodeName} ${carrier.driver}`;
    const known = ids.get(key);
    if (known === undefined) ids.set(key, carrier.value);
    else if (known !== carrier.value) contested.add(attachment.spec.nodeName);
  };
  return { contested, watch };
};

const readAttached = async (reader: Reader, wanted: (node: string) => boolean, others: (attachment: V1VolumeAttachment) => void): Promise<ByNode> => {
  const found = new Map<string, Map<string, Noted>>();
  for await (const page of attachmentPages(reader)) {
    for (const attachment of page) {
      if (wanted(attachment.spec.nodeName)) note(found, attachment);
      else others(attachment);
    }
  }
  return new Map([...found].map(([node, noted]) => [node, [...noted.values()]]));
};

/**
 * Attachments to Nodes without a fresh Lease, and to those under whose name one driver noted two machines: a living Node
 * may have got the name of a dead one. The list is read again for the latter, who are rare, and so is not kept whole.
 */
export const readDoubtful = async (reader: Reader, fresh: ReadonlySet<string>): Promise<ByNode> => {
  const { contested, watch } = watchful();
  const doubtful = await readAttached(reader, (node) => !fresh.has(node), watch);
  if (contested.size === 0) return doubtful;
  return new Map([...doubtful, ...(await readAttached(reader, (node) => contested.has(node), () => undefined))]);
};
