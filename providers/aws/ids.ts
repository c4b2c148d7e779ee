/** `i-` and 8 or 17 hexadecimal digits today; shorter forms between them are let through, EC2 itself judges those. */
export const INSTANCE_ID = /^i-[0-9a-f]{8,17}$/;

export const VOLUME_ID = /^vol-[0-9a-f]{8,17}$/;
