import { Unavailable } from '../fencing/errors.ts';
import { bounded } from '../fencing/paged.ts';

/** The part of a Kubernetes list that paging needs. */
interface Page<T> {
  /** Null in a list of metadata that is empty, whatever the client's types say. */
  readonly items: T[] | null;
  readonly metadata?: { readonly _continue?: string };
}

export const PAGE_SIZE = 500;

/** Half a million objects: more than three times what a cluster is built for. https://kubernetes.io/docs/setup/best-practices/cluster-large/ */
const MOST_PAGES = 1_000;

type Paging = { readonly limit: number; readonly _continue?: string };

async function* following<T>(readPage: (paging: Paging) => Promise<Page<T>>): AsyncGenerator<readonly T[]> {
  for (let next: string | undefined = ''; next !== undefined; ) {
    const page: Page<T> = await readPage({ limit: PAGE_SIZE, ...(next !== '' && { _continue: next }) });
    yield page.items ?? [];
    const after: string | undefined = page.metadata?._continue || undefined;
    if (after !== undefined && after === next) throw new Unavailable('a list does not end: its next page begins where the last one began');
    next = after;
  }
}

/**
 * Reads a list page by page, so that no more than one page is ever held. An expired list ends with Unavailable, and so does
 * one that never ends.
 */
export const pages = <T>(readPage: (paging: Paging) => Promise<Page<T>>): AsyncGenerator<readonly T[]> => bounded(following(readPage), MOST_PAGES, 'a list');
