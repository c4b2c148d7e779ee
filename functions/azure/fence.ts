import { z } from 'zod';
import { subjectOf } from '../../providers/azure/events/subject.ts';
import { carryOut, manner, readOrder } from '../order.ts';
import { sentByHand } from './batch.ts';
import { byHand, type HttpFunction } from './http.ts';
import type { Wired } from './wiring.ts';

const ONE = 'is a scale set: name one of its machines, or send the set to `replay`';
const resourceId = z.string().refine((id) => subjectOf(id.replace(/^azure:\/\//i, ''))?.kind !== 'set', ONE);
const order = z.strictObject({ resourceId, ...manner });

/** Fences one machine that a person names: `{"resourceId": "/subscriptions/…/virtualMachines/…", "dryRun": true}`. */
export const fence = (wired: Wired): HttpFunction =>
  byHand(wired, (asked, { wiring, limit }) => {
    const { resourceId, ...wanted } = readOrder(asked, order, '{"resourceId": "/subscriptions/…/virtualMachines/…"}');
    return carryOut([sentByHand({ resourceId })], wanted, wiring, limit);
  });
