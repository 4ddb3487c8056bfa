import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { stopOrphanedServer } from './orphaned-server.ts';

/** Returns where development Postgres keeps its data, as noted in the data folder; undefined before its first start. */
export function readPostgresHome(dataDir: string): { folder: string; password: string } | undefined {
  const note = join(dataDir, 'postgres.json');
  return existsSync(note) ? JSON.parse(readFileSync(note, 'utf8')) : undefined;
}

/**
 * Empties a data folder. If its user cannot reach the project, Postgres keeps its data elsewhere, and that folder is emptied too.
 * Servers that a killed run left there are stopped first. `keep` names files that stay.
 */
export async function emptyDataFolder(dataDir: string, keep: string[]): Promise<void> {
  const postgres = readPostgresHome(dataDir)?.folder;
  for (const folder of [postgres, join(dataDir, 'redis')]) if (folder) await stopOrphanedServer(folder);
  if (postgres) rmSync(postgres, { recursive: true, force: true });
  for (const name of readdirSync(dataDir)) {
    if (!keep.includes(name)) rmSync(join(dataDir, name), { recursive: true, force: true });
  }
}
