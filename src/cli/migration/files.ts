import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Journal, padIndex, readJournal, readJsonFile } from '../../runtime/migrations/journal.ts';
import type { Plan } from '../../runtime/migrations/plan/plan-change.ts';
import type { Snapshot } from '../../runtime/migrations/plan/snapshot.ts';

/** A migration file to be written. `snapshot` describes the tables after the migration. */
export interface NewMigration {
  name: string;
  /** The lines above the first statement. */
  header: readonly string[];
  statements: readonly string[];
  snapshot: Snapshot;
}

const BREAKPOINT = '\n--> statement-breakpoint\n';

const NO_TRANSACTION_HEADER = [
  '-- belfry: no transaction',
  '-- Each statement is committed separately, so that building an index does not block writes. After an interruption, run it again.',
];

const HAND_WRITTEN_HEADER = [
  '-- Write your statements here. Separate them with the same breakpoint line as in the other files. They run in one transaction.',
  '-- Add the line "-- belfry: no transaction" to commit each statement separately. Each statement must then be safe to run twice.',
];

function notesSection(title: string, notes: readonly string[]): string[] {
  return notes.length === 0 ? [] : [`-- ${title}`, ...notes.map((note) => `--   ${note}`)];
}

/** Returns the tables after all migrations of a folder; undefined if there are none. */
export function readLastSnapshot(folder: string): Snapshot | undefined {
  const last = readJournal(folder)?.entries.at(-1);
  if (last === undefined) return undefined;
  const file = join(folder, 'meta', `${padIndex(last.idx)}_snapshot.json`);
  const snapshot = readJsonFile<Snapshot>(file);
  if (snapshot === undefined) throw new Error(`${file} is missing: restore it from version control.`);
  return snapshot;
}

/** Returns a description without the indexes that are created later. */
function removeIndexes(next: Snapshot, indexes: readonly string[]): Snapshot {
  const later = new Set(indexes.map((statement) => /INDEX "([^"]+)"/.exec(statement)?.[1]));
  const tables = Object.entries(next.tables).map(([key, table]) => {
    const kept = Object.entries(table.indexes).filter(([name]) => !later.has(name));
    return [key, { ...table, indexes: Object.fromEntries(kept) }];
  });
  return { ...next, id: crypto.randomUUID(), tables: Object.fromEntries(tables) };
}

/**
 * Turns a plan into files: one for the statements of one transaction, and after it one for the indexes and the checks of foreign keys of
 * tables that may be large, which do not block writes.
 */
export function splitIntoMigrations(plan: Plan, name: string, next: Snapshot): NewMigration[] {
  const migrations: NewMigration[] = [];
  const { statements, indexes, validations, notes, unchecked } = plan;
  const indexNotes = new Set(unchecked.filter((one) => 'room' in one || 'target' in one).map(({ note }) => note));
  const others = notes.filter((note) => !indexNotes.has(note));
  if (statements.length > 0) {
    const snapshot = indexes.length > 0 ? removeIndexes(next, indexes) : next;
    migrations.push({ name, header: notesSection('Notes:', others), statements, snapshot });
  }
  // The declarations changed in a way that the tables do not show, so the snapshot has to be updated.
  if (statements.length === 0 && indexes.length === 0) {
    const header = notesSection('The tables do not change. Notes:', others);
    migrations.push({ name, header, statements: [], snapshot: next });
  }
  if (indexes.length + validations.length > 0) {
    const concurrent = [
      ...indexes.map((statement) => statement.replace(' INDEX ', ' INDEX CONCURRENTLY ')),
      ...validations,
    ];
    const own = statements.length > 0 ? `${name}_indexes` : name;
    const header = [
      ...NO_TRANSACTION_HEADER,
      ...notesSection('Notes:', statements.length > 0 ? [...indexNotes] : notes),
    ];
    migrations.push({ name: own, header, statements: concurrent, snapshot: next });
  }
  return migrations;
}

/** Returns a migration to be written by hand. It leaves the tables unchanged. */
export function createEmptyMigration(name: string, snapshot: Snapshot): NewMigration {
  return { name, header: HAND_WRITTEN_HEADER, statements: [], snapshot };
}

/**
 * Writes migrations in drizzle-kit's format: the SQL, the snapshot, the entry in the journal.
 *
 * @param after the new migrations get a later time than this, in epoch ms
 * @returns the names of the migrations, such as `0003_add_tasks`
 */
export function writeMigrations(folder: string, migrations: readonly NewMigration[], after = 0): string[] {
  const journal: Journal = readJournal(folder) ?? { version: '7', dialect: 'postgresql', entries: [] };
  const meta = join(folder, 'meta');
  mkdirSync(meta, { recursive: true });
  const writeJson = (file: string, value: unknown) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
  let previous = readLastSnapshot(folder)?.id;
  const names = migrations.map(({ name, header, statements, snapshot }) => {
    const last = journal.entries.at(-1);
    const idx = (last?.idx ?? -1) + 1;
    const tag = `${padIndex(idx)}_${name}`;
    const id = snapshot.id === previous ? crypto.randomUUID() : snapshot.id;
    const before = idx === 0 ? ['CREATE EXTENSION IF NOT EXISTS pg_trgm;'] : [];
    const sql = [...header.map((line) => `${line}\n`), [...before, ...statements].join(BREAKPOINT)].join('');
    writeFileSync(join(folder, `${tag}.sql`), `${sql.trimEnd()}\n`);
    writeJson(join(meta, `${padIndex(idx)}_snapshot.json`), { ...snapshot, id, ...(previous && { prevId: previous }) });
    previous = id;
    // Later than the last one, regardless of this machine's clock, since drizzle's own migrator compares these times.
    const when = Math.max(Date.now(), (last?.when ?? 0) + 1, after + 1);
    journal.entries.push({ idx, version: '7', when, tag, breakpoints: true });
    return tag;
  });
  writeJson(join(meta, '_journal.json'), journal);
  return names;
}
