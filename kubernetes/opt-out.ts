import type { V1ObjectMeta } from '@kubernetes/client-node/dist/gen/index.js';
import type { OptOut } from '../fencing/cluster-facts.ts';
import { OPT_OUT_ANNOTATION, OPT_OUT_LABEL } from './names.ts';

/** Any value opts out, `false` included: doubt about what somebody meant must not lead to a fence. */
const written = (reason: string | undefined): string | null => (reason === undefined ? null : reason.trim() || 'no reason given');

const optOut = (by: OptOut['by'], key: string, reason: string | undefined, off: string): readonly OptOut[] => {
  const says = written(reason);
  return says === null ? [] : [{ by, key, says, mend: `kubectl ${by === 'label' ? 'label' : 'annotate'} ${off} ${key}-` }];
};

/** The label, which no kubelet can write, before the annotation, which the Node's own can. */
export const optOutsOfNode = ({ name = '', labels, annotations }: V1ObjectMeta = {}): readonly OptOut[] => [
  ...optOut('label', OPT_OUT_LABEL, labels?.[OPT_OUT_LABEL], `node ${name}`),
  ...optOut('annotation', OPT_OUT_ANNOTATION, annotations?.[OPT_OUT_ANNOTATION], `node ${name}`),
];

export const optOutOfPod = ({ name = '', namespace = '', annotations }: V1ObjectMeta = {}): OptOut | null =>
  optOut('annotation', OPT_OUT_ANNOTATION, annotations?.[OPT_OUT_ANNOTATION], `-n ${namespace} pod ${name}`)[0] ?? null;
