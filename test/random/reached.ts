import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';

/** Which code of a folder never runs, as the JavaScript engine counts it. */

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

const linesOf = (text: string, { startOffset, endOffset }: Range): string => {
  const from = text.slice(0, startOffset).split('\n').length;
  const to = text.slice(0, endOffset).split('\n').length;
  const first = text.slice(startOffset, endOffset).trim().split('\n', 1)[0] ?? '';
  return `${from === to ? from : `${from}-${to}`}: ${first.slice(0, 80)}`;
};

/** Begins to count. The returned function stops it, and lists what did not run, one line for each place. */
export const countReached = async (folder: string): Promise<() => Promise<readonly string[]>> => {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  return async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    session.disconnect();
    return result
      .filter(({ url }) => url.startsWith('file:') && fileURLToPath(url).startsWith(`${root}${folder}`))
      .flatMap(({ url, functions }) => {
        const path = fileURLToPath(url);
        const text = readFileSync(path, 'utf8');
        const ranges: readonly Range[] = functions.flatMap((one) => one.ranges.filter(({ count }) => count === 0));
        return ranges.map((range) => `${path.slice(root.length)}:${linesOf(text, range)}`);
      });
  };
};
