/** Measures how many calls are open at the same time. */
export interface OpenCalls {
  /** Makes the call, which counts as open until it ends. */
  readonly during: <T>(call: () => Promise<T>) => Promise<T>;
  /** How many calls are open now. */
  readonly open: () => number;
  /** How many calls have been open at the same time at most. */
  readonly most: () => number;
}

export const openCalls = (): OpenCalls => {
  let [open, most] = [0, 0];
  return {
    during: (call) => {
      most = Math.max(most, (open += 1));
      return call().finally(() => (open -= 1));
    },
    open: () => open,
    most: () => most,
  };
};
