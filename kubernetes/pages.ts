/** The part of a Kubernetes list that paging needs. */
interface Page<T> {
  /** Null in a list of metadata that is empty, whatever the client's types say. */
  readonly items: T[] | null;
  readonly metadata?: { readonly _continue?: string };
}

export const PAGE_SIZE = 500;

type Paging = { readonly limit: number; readonly _continue?: string };

/** Reads a list page by page, so that no more than one page is ever held. An expired list ends with Unavailable. */
export async function* pages<T>(readPage: (paging: Paging) => Promise<Page<T>>): AsyncGenerator<readonly T[]> {
  for (let next: string | undefined = ''; next !== undefined; ) {
    const page: Page<T> = await readPage({ limit: PAGE_SIZE, ...(next !== '' && { _continue: next }) });
    yield page.items ?? [];
    next = page.metadata?._continue || undefined;
  }
}
