import type pg from 'pg';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { danglingReferenceCondition, findDanglingReferencesSql } from '../../runtime/migrations/dangling-references.ts';
import type { UncheckedColumn } from '../../runtime/migrations/plan/column-changes.ts';
import type { Plan } from '../../runtime/migrations/plan/plan-change.ts';
import { createCountingClient } from './count-values.ts';

type UncheckedReference = Extract<UncheckedColumn, { target: string }>;

function describeCount(one: UncheckedColumn, count: number): string {
  if ('room' in one) return count === 1 ? '1 row has a longer value' : `${count || 'no'} rows have longer values`;
  if ('target' in one) return describeDanglingReferences(one, count);
  if ('missing' in one) return count === 1 ? '1 row has no value' : `${count || 'no'} rows have no value`;
  if (count === 0) return 'every existing value is allowed';
  return count === 1 ? '1 row has another value' : `${count} rows have other values`;
}

function describeDanglingReferences({ table, column, target }: UncheckedReference, count: number): string {
  if (count === 0) return 'all existing values refer to existing rows';
  const found = count === 1 ? '1 row refers to a missing row' : `${count} rows refer to missing rows`;
  return `${found}; find them with: ${findDanglingReferencesSql({ table, column, target })}`;
}

function buildCondition(one: UncheckedColumn, name: string): [condition: string, value?: unknown] {
  if ('target' in one) return [danglingReferenceCondition(one)];
  if ('missing' in one) return [`${name} is null`];
  if (!('room' in one)) return [one.array ? `not ${name} <@ $1::text[]` : `${name} <> all($1::text[])`, one.values];
  const item = one.array ? 'item' : name;
  const long = `octet_length(${item}) > $1`;
  return [one.array ? `exists (select from unnest(${name}) as item where ${long})` : long, one.room];
}

async function count(client: pg.Client, one: UncheckedColumn): Promise<string> {
  const [condition, value] = buildCondition(one, quoteIdentifier(one.column));
  const text = `select count(*)::int as count from ${quoteIdentifier(one.table)} where ${condition}`;
  const { rows } = await client.query(text, value === undefined ? [] : [value]);
  return describeCount(one, rows[0].count);
}

/**
 * Returns the notes of a plan, each with the number of rows whose value an enum does not list, an index has no room for, or a
 * foreign key refuses, and of rows that lack the value of a new default.
 *
 * @param url undefined if no database is named; then nothing is counted
 */
export async function countUnchecked(url: string | undefined, { notes, unchecked }: Plan): Promise<string[]> {
  if (url === undefined || url === '' || unchecked.length === 0) return [...notes];
  const counted = new Map<string, string>();
  const client = createCountingClient(url);
  try {
    await client.connect();
    for (const one of unchecked) {
      counted.set(one.note, await count(client, one));
    }
  } catch (error) {
    const why = (error as Error).message || 'the database does not respond';
    for (const { note } of unchecked) if (!counted.has(note)) counted.set(note, `rows were not counted: ${why}`);
  }
  await client.end().catch(() => undefined);
  return notes.map((note) => (counted.has(note) ? `${note}; ${counted.get(note)}` : note));
}
