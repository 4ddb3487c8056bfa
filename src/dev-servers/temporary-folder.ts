import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeCompleteFile } from './complete-file.ts';
import { isRunning, stopOrphanedServer } from './orphaned-server.ts';
import { type Account, canAccess } from './postgres-account.ts';

const PREFIX = 'belfry-test-';
const temporaryRoots = [...new Set([tmpdir(), '/tmp', '/var/tmp'])].filter((place) => existsSync(place));

/** The in-memory file system of Linux. */
const MEMORY_FOLDER = '/dev/shm';
/** Bytes that must be free in `/dev/shm` and in memory. A run of all tests uses about one gigabyte. */
const MIN_FREE_BYTES = 4 * 2 ** 30;

function hasRoomInMemory(): boolean {
  if (!existsSync(MEMORY_FOLDER)) return false;
  const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
  return Math.min(bavail * bsize, process.availableMemory()) >= MIN_FREE_BYTES;
}

/**
 * Creates a temporary folder for one server, in the first folder for temporary files that the account can reach. The
 * server's guard removes it. If the guard could not, `removeStaleTemporaryFolders` does.
 *
 * @param inMemory uses an in-memory file system if there is enough space: hundreds of databases take a third of the time there
 */
export function createTemporaryFolder(kind: string, account?: Account, inMemory = false): string {
  const candidates = inMemory && hasRoomInMemory() ? [MEMORY_FOLDER, ...temporaryRoots] : temporaryRoots;
  const place = candidates.find((candidate) => canAccess(account, candidate, 'x'));
  if (!place) throw new Error(`The server cannot access any temporary folder (tried ${temporaryRoots.join(', ')}).`);
  const folder = mkdtempSync(join(place, `${PREFIX}${kind}-`));
  chmodSync(folder, 0o711);
  writeCompleteFile(join(folder, 'maker.pid'), String(process.pid));
  return folder;
}

/** Stops and removes leftovers of killed test runs. Only those of this user, and nothing else. */
export async function removeStaleTemporaryFolders(): Promise<void> {
  for (const place of existsSync(MEMORY_FOLDER) ? [MEMORY_FOLDER, ...temporaryRoots] : temporaryRoots) {
    for (const name of readdirSync(place).filter((entry) => entry.startsWith(PREFIX))) {
      const folder = join(place, name);
      const stats = statSync(folder, { throwIfNoEntry: false });
      if (!stats || (process.getuid && stats.uid !== process.getuid())) continue;
      const ownerFile = join(folder, 'maker.pid');
      if (
        existsSync(ownerFile) ? isRunning(Number(readFileSync(ownerFile, 'utf8'))) : Date.now() - stats.mtimeMs < 60_000
      ) {
        continue;
      }
      await stopOrphanedServer(folder);
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
