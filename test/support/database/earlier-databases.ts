import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import type { App } from '../../../src/runtime/create-app.ts';
import { createTestDatabase } from './test-database.ts';

/** The folder of migrations that earlier versions had, named by the time that identifies them. */
export const EARLIER_MIGRATIONS = join(import.meta.dirname, '../../fixtures/earlier-migrations');

type Query = (text: string, values?: unknown[]) => Promise<unknown>;

/** Creates a database without tables, the environment of an app on it, and a connection. All end with the test. */
export async function createEmptyDatabase() {
  const database = await createTestDatabase();
  const client = new pg.Client(database.databaseUrl);
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await database.drop();
  });
  const env = {
    NODE_ENV: 'test',
    DATABASE_URL: database.databaseUrl,
    REDIS_URL: database.redisUrl,
    REDIS_PREFIX: database.redisPrefix,
  };
  // biome-ignore lint/suspicious/noExplicitAny: rows as the test knows them
  const query = async (text: string, values?: unknown[]): Promise<any[]> => (await client.query(text, values)).rows;
  return { env, query, client };
}

/** Applies the migrations of a folder, closes the app, and returns the lines of the command: `0000_init applied`. */
export async function migrateAndClose(app: Pick<App, 'migrate' | 'close'>, folder: string): Promise<string[]> {
  const applied: string[] = [];
  try {
    await app.migrate({ mode: 'apply', folder, say: (line) => applied.push(line) });
  } finally {
    await app.close();
  }
  return applied;
}

/**
 * Brings a database to the state in which earlier migrations left it.
 *
 * @param migrations in order: the file, and the time in epoch ms that identifies it
 */
export async function applyEarlierMigrations(
  query: Query,
  migrations: readonly { file: string; when: number }[],
): Promise<void> {
  await query('create schema if not exists drizzle');
  await query(
    'create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)',
  );
  for (const { file, when } of migrations) {
    const text = readFileSync(file, 'utf8');
    for (const statement of text.split('--> statement-breakpoint')) await query(statement);
    const hash = createHash('sha256').update(text).digest('hex');
    await query('insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2)', [hash, when]);
  }
}
