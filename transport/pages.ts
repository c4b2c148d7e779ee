import { Unavailable } from '../fencing/model/errors.ts';

/**
 * The same pages, of which there must not be more than `most`: a server that promises another page for ever would never
 * be done. What was read by then is not the whole, and so it is no answer.
 */
export async function* bounded<T>(pages: AsyncIterable<T>, most: number, list: string): AsyncGenerator<T> {
  let count = 0;
  for await (const page of pages) {
    count += 1;
    if (count > most) throw new Unavailable(`${list} does not end: ${most} pages were read, and more are promised`);
    yield page;
  }
}
