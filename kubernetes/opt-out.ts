import type { V1ObjectMeta } from '@kubernetes/client-node/dist/gen/index.js';
import { OPT_OUT_ANNOTATION } from './names.ts';

/** Any value opts out, `false` included: doubt about what somebody meant must not lead to a fence. */
export const optOutOf = (metadata: V1ObjectMeta | undefined): string | null => {
  const reason = metadata?.annotations?.[OPT_OUT_ANNOTATION];
  return reason === undefined ? null : reason.trim() || 'no reason given';
};
