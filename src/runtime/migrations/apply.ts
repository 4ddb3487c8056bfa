import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import type { PoolClient } from 'pg';
import { StartupError } from '../../platform/environment.ts';
import { isSynced } from './sync.ts';

/** Applies the migrations of a folder that were not applied yet, in order, in one transaction. */
export async function apply(client: PoolClient, folder: string): Promise<void> {
  if (!existsSync(join(folder, 'meta', '_journal.json'))) {
    throw new StartupError('There are no migrations:', [
      `${folder} is empty; make the first with: npm run migration:generate`,
    ]);
  }
  if (await isSynced(client)) {
    throw new StartupError('The database is kept by sync (npm run dev), which migrations do not fit on:', [
      'name another database in DATABASE_URL, or empty this one',
    ]);
  }
  await migrate(drizzle(client), { migrationsFolder: folder });
}
