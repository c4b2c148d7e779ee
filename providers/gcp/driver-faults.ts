import type { DriverFault } from '../../diagnosis/model/facts.ts';

/**
 * Compute Engine's error codes in the sentences of the Persistent Disk CSI driver: the code of an operation in
 * parentheses, or the reason at the end of `googleapi: Error 403: …, reason`.
 * https://cloud.google.com/compute/docs/troubleshooting/api-error-codes
 */
const FAULTS: Readonly<Record<string, DriverFault>> = {
  RESOURCE_IN_USE_BY_ANOTHER_RESOURCE: 'attached-elsewhere',
  resourceInUseByAnotherResource: 'attached-elsewhere',
  rateLimitExceeded: 'throttled',
  RATE_LIMIT_EXCEEDED: 'throttled',
  forbidden: 'not-permitted',
  PermissionDenied: 'not-permitted',
  kmsKeyError: 'key-unusable',
};

/** The code covers several faults. A word of the sentence tells them apart. */
const COVERING: readonly (readonly [RegExp, RegExp, DriverFault])[] = [
  [/\bUNSUPPORTED_OPERATION\b/, /Maximum \S+ disks count/i, 'attach-limit'],
  [/\bnotFound\b|NotFound|Could not find/, /\bCould not find disk\b|\/disks\//i, 'disk-not-found'],
  [/\bnotFound\b|NotFound|Could not find/, /\bCould not find instance\b|\/instances\//i, 'machine-not-found'],
  [/\binvalid\b|UNSUPPORTED_OPERATION/, /not a compatible disk type/i, 'incompatible'],
];

/** Returns what Compute Engine's code in a sentence means, or null. */
export const driverFaultOf = (sentence: string): DriverFault | null => {
  const covering = COVERING.find(([code, word]) => code.test(sentence) && word.test(sentence));
  if (covering) return covering[2];
  const known = sentence.match(/\b[A-Za-z_]+\b/g)?.find((word) => Object.hasOwn(FAULTS, word));
  return known === undefined ? null : (FAULTS[known] ?? null);
};
