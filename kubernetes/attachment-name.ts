import { createHash } from 'node:crypto';
import type { VolumeHandle } from '../fencing/machine.ts';

/** The name that Kubernetes gives a volume's VolumeAttachment to a Node: pkg/volume/csi/csi_attacher.go, getAttachmentName. */
export const attachmentName = ({ driver, handle }: VolumeHandle, node: string): string =>
  `csi-${createHash('sha256').update(`${handle}${driver}${node}`).digest('hex')}`;
