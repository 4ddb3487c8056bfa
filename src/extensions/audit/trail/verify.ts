import type { Database } from '../../../extension/index.ts';
import type { ChainLink } from './chain.ts';
import { createSeal, GENESIS, hashEntry } from './chain.ts';
import { type EntryRow, toEntry, type ValuesColumns } from './entry.ts';
import type { BrokenRow } from './responses.ts';
import { COUNT_TRIGGERS, SELECT_ANCHOR, SELECT_ENTRIES_AFTER } from './sql.ts';

const ROWS_AT_ONCE = 500;
const TRIGGER_COUNT = 4;

/** The result of a verification. */
export interface Verification {
  /** The number of valid rows. */
  rows: number;
  /** The last valid row. */
  head: ChainLink;
  /** The first invalid row; undefined if the chain is intact. */
  broken: BrokenRow | undefined;
  /** The state of the expected row: still there, `removed` by retention, or `gone` (missing or replaced by another row). */
  expected: 'there' | 'removed' | 'gone' | undefined;
  /** Whether all triggers that protect the rows exist and are enabled. */
  guarded: boolean;
}

/** Options of a verification. */
export interface VerifyOptions {
  /** A row from an earlier verification. Without it, missing newest rows and a completely rewritten chain cannot be detected. */
  expected?: ChainLink | undefined;
  onProgress?(rows: number): void;
}

/** Verifies the chain from its beginning, in pages, up to the first invalid row. */
export type Verify = (options?: VerifyOptions) => Promise<Verification>;

type PageRow = [...EntryRow, ...ValuesColumns];

/** Returns whether the stored values match the seals of the row. Values that an erasure removed are not checked. */
function matchesSeals(row: PageRow): boolean {
  const [changes, salt, values] = [row[10] ?? {}, row[14], row[15]];
  if (salt === null) return true;
  return Object.entries(values ?? {}).every(([field, value]) => {
    const change = changes[field];
    return change !== undefined && 'sha256' in change && change.sha256 === createSeal(salt, field, value);
  });
}

function findRowFault(row: PageRow, before: ChainLink): BrokenRow | undefined {
  const entry = toEntry(row.slice(0, 14) as EntryRow);
  if (entry.id > before.id + 1) return { id: before.id + 1, fault: 'missing' };
  if (entry.id <= before.id || entry.previousHash !== before.hash) return { id: entry.id, fault: 'unlinked' };
  return hashEntry(entry) === entry.hash && matchesSeals(row) ? undefined : { id: entry.id, fault: 'changed' };
}

/** Creates the function that verifies the hash chain of the trail. */
export function createTrailVerifier(database: Pick<Database, 'readSlowly'>): Verify {
  /** Returns id and hash of the last row that retention removed, or the start of the chain if it removed none. */
  async function readAnchor(): Promise<ChainLink> {
    const [row] = await database.readSlowly<[id: number, hash: string]>({ text: SELECT_ANCHOR, values: [] });
    return row === undefined ? { id: 0, hash: GENESIS } : { id: row[0], hash: row[1] };
  }

  const readPageAfter = (id: number) =>
    database.readSlowly<PageRow>({ name: 'audit_page', text: SELECT_ENTRIES_AFTER, values: [id, ROWS_AT_ONCE] });

  async function areTriggersEnabled(): Promise<boolean> {
    const [row] = await database.readSlowly<[number]>({ text: COUNT_TRIGGERS, values: [] });
    return row![0] === TRIGGER_COUNT;
  }

  return async ({ expected, onProgress } = {}) => {
    const guarded = await areTriggersEnabled();
    let expectedState: Verification['expected'];
    let rows = 0;
    let last: ChainLink;
    const advanceTo = (link: ChainLink) => {
      last = link;
      if (expected?.id === link.id) expectedState = expected.hash === link.hash ? 'there' : 'gone';
    };
    const startAtAnchor = (anchor: ChainLink) => {
      if (expected !== undefined && expected.id < anchor.id) expectedState ??= 'removed';
      advanceTo(anchor);
    };
    const createResult = (broken?: BrokenRow) => ({
      rows,
      head: last,
      broken,
      expected: expectedState ?? (expected && 'gone'),
      guarded,
    });

    startAtAnchor(await readAnchor());
    // Read from id 0, not from the anchor: rows that the anchor says are removed must not exist.
    for (let page = await readPageAfter(0); page.length > 0; page = await readPageAfter(last!.id)) {
      for (const row of page) {
        const broken = findRowFault(row, last!);
        if (broken !== undefined) {
          const anchor = await readAnchor();
          if (anchor.id <= last!.id) return createResult(broken);
          // Retention has removed rows since the page was read: continue after the last one of them, with a new page.
          startAtAnchor(anchor);
          break;
        }
        advanceTo({ id: row[0], hash: row[13] });
        rows++;
      }
      onProgress?.(rows);
    }
    return createResult();
  };
}
