/** A violation: data may be lost, which must never happen. */
export interface InvariantViolation {
  readonly at: number;
  readonly what: string;
}
