import type { V1CSINode, V1Node, V1ObjectMeta, V1VolumeAttachment } from '@kubernetes/client-node/dist/gen/index.js';
import { z } from 'zod';
import type { Clues } from '../fencing/cluster.ts';
import { jsonText } from '../fencing/json-text.ts';
import { ownMachine, type IdentityCarrier } from '../fencing/machine.ts';
import { ATTACHED_NODE_ID, CSI_NODE_IDS, INSTANCE_ID_ANNOTATIONS } from './names.ts';

const nodeIds = jsonText.pipe(z.record(z.string(), z.string()));

/** No Node has so many CSI drivers; what its kubelet writes beyond is not read. */
const MOST_DRIVERS = 50;

/** What the nodeid annotation says; an annotation that cannot be read names nobody. */
export const annotatedCarriers = (metadata: V1ObjectMeta | undefined): readonly IdentityCarrier[] => {
  const read = nodeIds.safeParse(metadata?.annotations?.[CSI_NODE_IDS]);
  return Object.entries(read.data ?? {}).slice(0, MOST_DRIVERS).map(([driver, value]) => ({ carrier: 'nodeIdAnnotation', driver, value }));
};

const written = (carrier: IdentityCarrier['carrier'], value: string | undefined): readonly IdentityCarrier[] =>
  value === undefined || value === '' ? [] : [{ carrier, driver: null, value }];

export const nodeCarriers = ({ metadata, spec, status }: V1Node): readonly IdentityCarrier[] => [
  ...written('providerID', spec?.providerID),
  ...annotatedCarriers(metadata),
  ...INSTANCE_ID_ANNOTATIONS.flatMap((name) => written('instanceIdAnnotation', metadata?.annotations?.[name])),
  ...written('systemUUID', status?.nodeInfo?.systemUUID),
];

export const csiNodeCarriers = (csiNode: V1CSINode | null): readonly IdentityCarrier[] =>
  (csiNode?.spec.drivers ?? []).slice(0, MOST_DRIVERS).map(({ name, nodeID }) => ({ carrier: 'csiNode', driver: name, value: nodeID }));

export const attachmentCarrier = ({ metadata, spec }: V1VolumeAttachment): IdentityCarrier | null => {
  const value = metadata?.annotations?.[ATTACHED_NODE_ID] ?? '';
  return value === '' ? null : { carrier: 'volumeAttachment', driver: spec.attacher, value };
};

/**
 * The Node's own providerID names another machine. It cannot be changed once it is set, so that whatever else on the Node,
 * CSINode or annotation, names this machine, was written by a kubelet that is not its.
 */
export const isImposter = (carriers: readonly IdentityCarrier[], { machine, machineOf }: Clues): boolean =>
  ![machine, null].includes(ownMachine(carriers, machineOf));

/** At least one carrier names the machine. Whether another one contradicts, fencing judges. */
export const namesMachine = (carriers: readonly IdentityCarrier[], { machine, machineOf }: Pick<Clues, 'machine' | 'machineOf'>): boolean =>
  carriers.some((carrier) => machineOf(carrier) === machine);
