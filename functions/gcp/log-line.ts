import { decision } from '../names.ts';

/** As Cloud Logging reads it from a line of JSON. https://cloud.google.com/logging/docs/structured-logging */
type Severity = 'INFO' | 'WARNING' | 'ERROR';

const severities: Readonly<Record<string, Severity>> = {
  failed: 'ERROR',
  refused: 'WARNING',
  [decision.notUnderstood]: 'WARNING',
  [decision.foreign]: 'WARNING',
  [decision.handedToSweep]: 'WARNING',
  'not-let-in': 'WARNING',
};

/** The line that it is everywhere, with the two fields that Cloud Logging shows. */
export const logLine = (line: object): string => {
  const { decision: what, says } = { decision: '', says: '', ...line };
  return JSON.stringify({ severity: severities[what] ?? 'INFO', message: `${what}: ${says}`, ...line });
};
