import type { DriverFault } from '../../diagnosis/model/facts.ts';

/**
 * EC2's error codes in the sentences of the EBS CSI driver. The driver passes on what the SDK says: `api error CODE:` in
 * version 2, `CODE:` before.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
 */
const FAULTS: Readonly<Record<string, DriverFault>> = {
  AttachmentLimitExceeded: 'attach-limit',
  AuthFailure: 'not-permitted',
  CustomerKeyHasBeenRevoked: 'key-unusable',
  IncorrectInstanceState: 'machine-not-found',
  'InvalidInstanceID.NotFound': 'machine-not-found',
  'InvalidVolume.NotFound': 'disk-not-found',
  'InvalidVolume.ZoneMismatch': 'wrong-zone',
  RequestLimitExceeded: 'throttled',
  UnauthorizedOperation: 'not-permitted',
  UnsupportedOperation: 'incompatible',
  VolumeInUse: 'attached-elsewhere',
  WebIdentityErr: 'not-permitted',
};

const WORD = /\b[A-Z][A-Za-z]+(?:\.[A-Z][A-Za-z]+)?\b/g;

/** Returns what EC2's code in a sentence means, or null. */
export const driverFaultOf = (sentence: string): DriverFault | null => {
  const code = sentence.match(WORD)?.find((word) => Object.hasOwn(FAULTS, word));
  return code === undefined ? null : (FAULTS[code] ?? null);
};
