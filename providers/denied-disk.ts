import { PermissionDenied } from '../fencing/model/errors.ts';

/**
 * A disk of a machine that Cloudfence may not read. No proof needs a disk that the machine names, so a denied read does
 * not stop the look. Cloudfence then keeps the disk attached, because the disk did not confirm the attachment.
 */

/** Returns the answer, or the error if the cloud denies the read. @throws any other error */
export const readUnlessDenied = async <Answer>(read: Promise<Answer>): Promise<Answer | PermissionDenied> => {
  try {
    return await read;
  } catch (caught) {
    if (caught instanceof PermissionDenied) return caught;
    throw caught;
  }
};

/** Why Cloudfence does not detach the disk, as the cloud says it. */
export const whyDeniedDiskIsKept = ({ message }: PermissionDenied): string =>
  `Cloudfence may not read this disk: ${message}`;
