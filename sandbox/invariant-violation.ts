/** Data that may be lost: the one thing that must never happen. */
export interface InvariantViolation {
  readonly at: number;
  readonly what: string;
}
