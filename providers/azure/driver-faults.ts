import type { DriverFault } from '../../diagnosis/model/facts.ts';

/**
 * Azure's error codes in the sentences of the Azure Disk CSI driver: `ERROR CODE: …` of the SDK, `Code="…"` and
 * `"code": "…"` before.
 * https://learn.microsoft.com/azure/virtual-machines/error-messages
 */
const FAULTS: Readonly<Record<string, DriverFault>> = {
  AttachDiskWhileBeingDetached: 'detach-pending',
  AuthorizationFailed: 'not-permitted',
  ConflictingUserInput: 'attached-elsewhere',
  DiskServiceInternalError: 'throttled',
  KeyVaultAccessForbidden: 'key-unusable',
  LinkedAuthorizationFailed: 'not-permitted',
  MaximumDataDisksExceeded: 'attach-limit',
  ResourceNotFound: 'disk-not-found',
  SubscriptionRequestsThrottled: 'throttled',
  TooManyRequests: 'throttled',
};

/** Codes that cover several faults. A word of the sentence tells them apart. */
const COVERING: readonly (readonly [RegExp, RegExp, DriverFault])[] = [
  [/\bOperationNotAllowed\b/, /maximum number of data disks/i, 'attach-limit'],
  [/\b(?:BadRequest|OperationNotAllowed)\b/, /not in the same zone/i, 'wrong-zone'],
  [/\bInvalidParameter\b/, /UltraSSD/i, 'incompatible'],
  [/\bInvalidParameter\b|already exists/, /\bLUN \d+ already exists/i, 'lun-taken'],
];

const CODE = /(?:ERROR CODE:\s*|"?code"?\s*[:=]\s*"?)([A-Za-z]+)/gi;

/** Returns what Azure's code in a sentence means, or null. */
export const driverFaultOf = (sentence: string): DriverFault | null => {
  const covering = COVERING.find(([code, word]) => code.test(sentence) && word.test(sentence));
  if (covering) return covering[2];
  const codes = [...sentence.matchAll(CODE)].map(([, code = '']) => code);
  const known = codes.find((code) => Object.hasOwn(FAULTS, code));
  return known === undefined ? null : (FAULTS[known] ?? null);
};
