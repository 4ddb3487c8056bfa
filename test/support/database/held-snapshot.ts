import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import type { Database } from '../../../src/platform/data/postgres/database.ts';

interface Statement {
  name?: string;
  text: string;
  values: unknown[];
}

/** Holds a snapshot in a session of its own until the test ends, so that vacuum removes nothing. */
export async function holdSnapshot(databaseUrl: string): Promise<void> {
  const holder = new Client({ connectionString: databaseUrl });
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query('begin isolation level repeatable read');
  await holder.query('select 1');
}

/** A database that remembers its last statement, to count the blocks that it reads. */
export interface ObservedDatabase extends Database {
  /** Returns the blocks that the last statement reads if it runs again. Changes nothing. */
  countBlocks(): Promise<number>;
  /** Makes searches of whole tables count as expensive: they take long, and the tables consist of dead rows. @param wait by default, Postgres does */
  makeSearchesExpensive(isSearch: (text: string, values: unknown[]) => boolean, wait?: () => unknown): void;
}

/** @param client another connection */
export function observeDatabase(database: Database, client: Client): ObservedDatabase {
  let last: Statement | undefined;
  let isExpensive: (text: string, values: unknown[]) => boolean = () => false;
  let takeLong: () => unknown = () => client.query('select pg_sleep(0.1)');
  const write = (async (statement: Statement) => {
    if (statement.text.includes('n_dead_tup')) return [[1_000_000]];
    last = statement;
    const rows = await database.write(statement);
    if (isExpensive(statement.text, statement.values)) await takeLong();
    return rows;
  }) as Database['write'];
  return {
    ...database,
    write,
    async countBlocks() {
      const { text, values } = last!;
      await client.query('begin');
      const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values);
      await client.query('rollback');
      const { Plan: plan } = rows[0]['QUERY PLAN'][0];
      return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    },
    makeSearchesExpensive(isSearch, wait = takeLong) {
      isExpensive = isSearch;
      takeLong = wait;
    },
  };
}
