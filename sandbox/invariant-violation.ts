/** A violation of an invariant: data may be lost. */
export interface InvariantViolation {
  readonly at: number;
  readonly what: string;
}
