import type { Database } from '../../platform/postgres/database.ts';
import type { Link } from './chain.ts';
import { type EntryRow, readEntry, type ValuesColumns } from './entry.ts';
import { GENESIS, hashOf, sealOf } from './hash.ts';
import { ANCHOR, PAGE, TRIGGERS } from './sql.ts';

const ROWS_AT_ONCE = 500;
const TRIGGERS_THERE = 4;

/**
 * A row that is not as it was: `missing` (it, and maybe more after it), `changed`, or `unlinked` (it does not belong behind the row
 * before it).
 */
export interface BrokenRow {
  id: number;
  fault: 'missing' | 'changed' | 'unlinked';
}

/** What became of a walk along the chain. */
export interface Verification {
  /** Rows that are as they were. */
  rows: number;
  /** The last of them. */
  head: Link;
  /** The first that is not; undefined: all is well. */
  broken: BrokenRow | undefined;
  /** What became of the row that was expected: `removed` by its age, `gone` where another stands in its place, or none. */
  expected: 'there' | 'removed' | 'gone' | undefined;
  /** Whether all triggers that keep the rows are there and on. */
  guarded: boolean;
}

/** How a chain is verified. */
export interface VerifyOptions {
  /** A row that was noted earlier: without it nobody can tell whether the newest rows are missing, or all were written anew. */
  expected?: Link | undefined;
  onProgress?(rows: number): void;
}

/** Walks the chain from its beginning, in pages, up to the first broken row. */
export type Verify = (options?: VerifyOptions) => Promise<Verification>;

type PageRow = [...EntryRow, ...ValuesColumns];

/** Whether the stored values match the seals of the row. Values that an erasure removed are not checked. */
function haveSeals(row: PageRow): boolean {
  const [changes, salt, values] = [row[10] ?? {}, row[14], row[15]];
  if (salt === null) return true;
  return Object.entries(values ?? {}).every(([field, value]) => {
    const change = changes[field];
    return change !== undefined && 'sha256' in change && change.sha256 === sealOf(salt, field, value);
  });
}

function faultOf(row: PageRow, before: Link): BrokenRow | undefined {
  const entry = readEntry(row.slice(0, 14) as EntryRow);
  if (entry.id > before.id + 1) return { id: before.id + 1, fault: 'missing' };
  if (entry.id <= before.id || entry.previousHash !== before.hash) return { id: entry.id, fault: 'unlinked' };
  return hashOf(entry) === entry.hash && haveSeals(row) ? undefined : { id: entry.id, fault: 'changed' };
}

/** Makes what verifies the chain. */
export function createVerify(database: Pick<Database, 'readSlowly'>): Verify {
  /** What stands before the first row. */
  async function beginning(): Promise<Link> {
    const [row] = await database.readSlowly<[id: number, hash: string]>({ text: ANCHOR, values: [] });
    return row === undefined ? { id: 0, hash: GENESIS } : { id: row[0], hash: row[1] };
  }

  const pageBehind = (id: number) =>
    database.readSlowly<PageRow>({ name: 'audit_page', text: PAGE, values: [id, ROWS_AT_ONCE] });

  async function isGuarded(): Promise<boolean> {
    const [row] = await database.readSlowly<[number]>({ text: TRIGGERS, values: [] });
    return row![0] === TRIGGERS_THERE;
  }

  return async ({ expected, onProgress } = {}) => {
    const guarded = await isGuarded();
    let standing: Verification['expected'];
    let rows = 0;
    let last: Link;
    const reach = (link: Link) => {
      last = link;
      if (expected?.id === link.id) standing = expected.hash === link.hash ? 'there' : 'gone';
    };
    const beginAt = (anchor: Link) => {
      if (expected !== undefined && expected.id < anchor.id) standing ??= 'removed';
      reach(anchor);
    };
    const endAt = (broken?: BrokenRow) => ({
      rows,
      head: last,
      broken,
      expected: standing ?? (expected && 'gone'),
      guarded,
    });

    beginAt(await beginning());
    // Of what an anchor says is removed nothing should be there: so from the very first row.
    for (let page = await pageBehind(0); page.length > 0; page = await pageBehind(last!.id)) {
      for (const row of page) {
        let broken = faultOf(row, last!);
        if (broken !== undefined) {
          const anchor = await beginning();
          // It was removed by its age since its page was read, or some before it were.
          if (anchor.id > last!.id) {
            beginAt(anchor);
            if (row[0] <= anchor.id) continue;
            broken = faultOf(row, anchor);
          }
        }
        if (broken !== undefined) return endAt(broken);
        reach({ id: row[0], hash: row[13] });
        rows++;
      }
      onProgress?.(rows);
    }
    return endAt();
  };
}
