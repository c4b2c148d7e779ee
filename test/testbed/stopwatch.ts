/** Measures how long several things take that happen at the same time, and prints it. */
export interface Stopwatch {
  readonly lap: <T>(what: string, work: Promise<T>) => Promise<T>;
  readonly print: () => void;
}

export const openStopwatch = (title: string): Stopwatch => {
  const begun = performance.now();
  const laps: string[] = [];
  return {
    lap: async (what, work) => {
      const result = await work;
      laps.push(`${what} after ${((performance.now() - begun) / 1000).toFixed(2)} s`);
      return result;
    },
    print: () => console.log(`${title}: ${laps.join(', ')}`),
  };
};
