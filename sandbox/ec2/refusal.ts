import { Refused } from '../../fencing/model/errors.ts';

/** EC2 rejects a call: the code that clients evaluate, the message for people, and the HTTP status. */
export class Ec2Refusal extends Refused {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}
