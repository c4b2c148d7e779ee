import { Refused } from '../../fencing/model/errors.ts';

/** Compute Engine rejects a call: the reason that clients evaluate, the message for people, and the HTTP status. */
export class GceRefusal extends Refused {
  readonly reason: string;
  readonly status: number;

  constructor(reason: string, message: string, status = 400) {
    super(message);
    this.reason = reason;
    this.status = status;
  }
}

export const notFound = (path: string): GceRefusal =>
  new GceRefusal('notFound', `The resource '${path}' was not found`, 404);
export const notReady = (path: string): GceRefusal =>
  new GceRefusal('resourceNotReady', `The resource '${path}' is not ready`);
export const invalid = (field: string, value: string, why: string): GceRefusal =>
  new GceRefusal('invalid', `Invalid value for field '${field}': '${value}'. ${why}`);
