import type { Reading } from '../../../fencing/hint.ts';
import { readEnvelope } from './envelope.ts';
import { namesAny } from './named.ts';

/** What a rule sends whose input path is `$.detail`: the inside of an event, of which the kind shows by its fields. */

const typeOf = (detail: object): string | null => {
  if ('affectedEntities' in detail && 'service' in detail) return 'AWS Health Event';
  if ('instance-action' in detail) return 'EC2 Spot Instance Interruption Warning';
  if ('sub-type' in detail) return 'EC2 Fleet Instance Change';
  if ('state' in detail) return 'EC2 Instance State-change Notification';
  return null;
};

/** Null when it is no such inside. */
export const readDetail = (detail: object, where: string): Reading | null => {
  const type = typeOf(detail) ?? (namesAny(detail) ? 'detail' : null);
  if (type === null || (type !== 'AWS Health Event' && !namesAny(detail))) return null;
  const { faults, ...rest } = readEnvelope({ 'detail-type': type, detail }, where);
  return { ...rest, faults: faults.map((fault) => ({ ...fault, where: fault.where.replace(`${where}.detail`, where) })) };
};
