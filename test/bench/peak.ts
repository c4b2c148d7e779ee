/** Measures how far the memory of this process rises above its value at the start, in bytes. */
export interface MemoryWatch {
  readonly look: () => void;
  readonly peak: () => { readonly rss: number; readonly heap: number };
}

const EVERY_MS = 2;

export const watchMemory = (): MemoryWatch => {
  globalThis.gc?.();
  const start = process.memoryUsage();
  let [rss, heap] = [start.rss, start.heapUsed];
  const look = (): void => {
    const now = process.memoryUsage();
    rss = Math.max(rss, now.rss);
    heap = Math.max(heap, now.heapUsed);
  };
  const timer = setInterval(look, EVERY_MS);
  return {
    look,
    peak: () => {
      clearInterval(timer);
      look();
      return { rss: rss - start.rss, heap: heap - start.heapUsed };
    },
  };
};
