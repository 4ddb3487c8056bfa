import type { RecordChange } from '../../../packages/client/src/realtime/record-change.ts';
import type { ListRecord, SortOrder } from '../../../packages/client/src/realtime/sort-order.ts';

type Event = RecordChange<ListRecord>;

/** A record of the model. */
export type ModelRecord = ListRecord & { updatedAt: string };

/** The time so many ms after the start of the model. */
export const time = (ms: number) => new Date(1_800_000_000_000 + ms).toISOString();

/** A server with a list of the records that meet a filter, in an order. It sends an event for each change. */
export class ListModel {
  readonly records = new Map<string, ModelRecord>();
  readonly deleted = new Map<string, ModelRecord>();
  readonly sent: Event[] = [];
  readonly #order: Pick<SortOrder, 'compare'>;
  readonly #isShown: (record: ListRecord) => boolean;
  #now = 0;

  constructor(order: Pick<SortOrder, 'compare'>, isShown: (record: ListRecord) => boolean) {
    this.#order = order;
    this.#isShown = isShown;
  }

  advance(ms: number): void {
    this.#now += ms;
  }

  #send(type: Event['type'], id: string, data?: ListRecord, previous?: ListRecord): void {
    this.sent.push({ type, id, data, previous, at: time(this.#now), event: String(this.sent.length) });
  }

  #version(before: { updatedAt: string } | undefined): string {
    const next = before === undefined ? '' : new Date(Date.parse(before.updatedAt) + 1).toISOString();
    return next > time(this.#now) ? next : time(this.#now);
  }

  /** Creates or updates a record, unless it is deleted. */
  put(id: string, values: Readonly<Record<string, unknown>>): void {
    const before = this.records.get(id);
    const after = { ...before, ...values, id, updatedAt: this.#version(before ?? this.deleted.get(id)) };
    if (before === undefined && this.deleted.has(id)) return;
    this.records.set(id, after);
    const [wasShown, isShown] = [before !== undefined && this.#isShown(before), this.#isShown(after)];
    if (before === undefined) {
      if (isShown) this.#send('created', id, after);
    } else if (isShown) this.#send('updated', id, after, wasShown ? before : undefined);
    else if (wasShown) this.#send('left', id);
  }

  delete(id: string): void {
    const before = this.records.get(id);
    if (before === undefined) return;
    this.records.delete(id);
    this.deleted.set(id, before);
    if (this.#isShown(before)) this.#send('deleted', id, before);
  }

  restore(id: string): void {
    const before = this.deleted.get(id);
    if (before === undefined) return;
    const after = { ...before, updatedAt: this.#version(before) };
    this.deleted.delete(id);
    this.records.set(id, after);
    if (this.#isShown(after)) this.#send('restored', id, after);
  }

  /** The whole list. */
  list(): ModelRecord[] {
    return [...this.records.values()].filter(this.#isShown).sort((a, b) => this.#order.compare(a, b)!);
  }
}
