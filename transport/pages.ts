import { Unavailable } from '../fencing/model/errors.ts';

/**
 * Yields the same pages, but at most `most` of them. Without this limit, a server that always promises another page
 * would never be done. A list that was read only in part is no answer.
 *
 * @throws Unavailable if there are more than `most` pages
 */
export async function* limitPages<T>(pages: AsyncIterable<T>, most: number, list: string): AsyncGenerator<T> {
  let count = 0;
  for await (const page of pages) {
    count += 1;
    if (count > most) throw new Unavailable(`${list} has more than ${most} pages, which is the limit`);
    yield page;
  }
}
