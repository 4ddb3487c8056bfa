/** What a list says about a page. */
export interface PageMeta {
  /** The number of records that the query finds; missing with `after` and with `count: 'none'`. */
  total?: number;
  /** Whether there are more records than `total` counts. */
  totalCapped?: boolean;
  page?: number;
  pages?: number;
  limit: number;
  /** The position for `after`; missing or null on the last page. */
  next?: string | null;
  /** Whether the page has fewer records than `limit` although more follow. */
  truncated?: boolean;
}

/** What a list says about a page if its records are counted. */
export interface CountedMeta extends PageMeta {
  total: number;
  page: number;
  pages: number;
}

/** A page of a list. It can be converted to JSON, without `next`. */
export class Page<Record, Meta extends PageMeta = PageMeta> {
  readonly data: Record[];
  readonly meta: Meta;
  readonly #load: (after: string) => Promise<Page<Record>>;

  /** @param load loads the page that begins after a position */
  constructor(data: Record[], meta: Meta, load: (after: string) => Promise<Page<Record>>) {
    this.data = data;
    this.meta = meta;
    this.#load = load;
  }

  /** Loads the page that follows; undefined on the last page. */
  async next(): Promise<Page<Record> | undefined> {
    return this.meta.next ? this.#load(this.meta.next) : undefined;
  }
}
