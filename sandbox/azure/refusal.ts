import { Refused } from '../../fencing/model/errors.ts';

/** ARM rejects a call: the code that clients evaluate, the message for people, and the HTTP status. */
export class ArmRefusal extends Refused {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

export const notFound = (what: string): ArmRefusal =>
  new ArmRefusal('ResourceNotFound', `The Resource '${what}' was not found.`, 404);

export const busy = (what: string): ArmRefusal =>
  new ArmRefusal('Conflict', `Another operation on '${what}' is in progress.`, 409);

export const notAllowed = (message: string): ArmRefusal => new ArmRefusal('OperationNotAllowed', message, 409);
