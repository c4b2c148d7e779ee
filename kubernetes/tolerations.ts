import type { V1Pod, V1Toleration } from '@kubernetes/client-node/dist/gen/index.js';
import { OUT_OF_SERVICE } from './names.ts';

/** It names the taint, whatever the effect, or it tolerates everything. A catch-all for one effect only is not meant for this taint. */
const meant = ({ key = '', operator, effect = '' }: V1Toleration): boolean =>
  key === OUT_OF_SERVICE.key || (operator === 'Exists' && key === '' && effect === '');

/** The pod is meant to stay on a Node that is out of service, such as a CSI node plugin. */
export const toleratesOutOfService = ({ spec }: V1Pod): boolean => (spec?.tolerations ?? []).some(meant);
