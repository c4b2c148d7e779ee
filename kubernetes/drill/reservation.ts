import { CoreV1Api, type V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import type { ReservedNode } from '../../drill/ports.ts';
import { Refused } from '../../fencing/model/errors.ts';
import type { Reader, Writer } from '../connection.ts';
import { isPreconditionFailed } from '../errors.ts';
import { DRILL_RESERVED_LABEL } from '../names.ts';
import { readNode } from '../node.ts';

/** The label with which a drill reserves its Node. Of two drills, only one can write it. */

const PATH = `/metadata/labels/${DRILL_RESERVED_LABEL.replaceAll('/', '~1')}`;

/** A kubelet writes to its Node now and then, and each of its writes is another version. */
const TRIES = 5;

export const reservationOf = ({ metadata }: V1Node): string | null => metadata?.labels?.[DRILL_RESERVED_LABEL] ?? null;

const patchOf = ({ metadata }: V1Node, drill: string) => [
  { op: 'test', path: '/metadata/uid', value: metadata?.uid },
  { op: 'test', path: '/metadata/resourceVersion', value: metadata?.resourceVersion },
  { op: 'add', path: PATH, value: drill },
];

/** Returns null when the Node bears the reservation already. @throws Refused */
const toReserve = async (reader: Reader, { name, uid, drill }: ReservedNode): Promise<V1Node | null> => {
  const node = await readNode(reader, name);
  if (node?.metadata?.uid !== uid) throw new Refused(`Node ${name} is gone, or is another one by now`);
  const holder = reservationOf(node);
  if (holder !== null && holder !== drill)
    throw new Refused(`another drill (${holder}) has just reserved Node ${name}`);
  return holder === drill ? null : node;
};

/** Writes the label under the uid and the version that were read, so that it never replaces another drill's. */
export const reserveNode = async (reader: Reader, writer: Writer, wanted: ReservedNode): Promise<void> => {
  const { name, drill } = wanted;
  for (let tries = 1; ; tries += 1) {
    const node = await toReserve(reader, wanted);
    if (!node) return;
    try {
      await writer.jsonPatch(CoreV1Api, (core) => core.patchNode({ name, body: patchOf(node, drill) }));
      return;
    } catch (error) {
      if (!isPreconditionFailed(error) || tries >= TRIES) throw error;
    }
  }
};

/** Removes the label if it names this drill. */
export const freeNode = async (
  reader: Reader,
  writer: Writer,
  { name, drill }: Omit<ReservedNode, 'uid'>,
): Promise<void> => {
  const node = await readNode(reader, name);
  if (!node || reservationOf(node) !== drill) return;
  const body = [
    { op: 'test', path: PATH, value: drill },
    { op: 'remove', path: PATH },
  ];
  await writer.jsonPatch(CoreV1Api, (core) => core.patchNode({ name, body }));
};
