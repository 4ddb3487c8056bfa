import { appendFileSync, chmodSync, chownSync, cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { Client } from 'pg';
import { pingPostgres } from '../../src/dev-servers/ping.ts';
import { ensurePostgresAccount } from '../../src/dev-servers/postgres-account.ts';
import { preparePostgresBinaries } from '../../src/dev-servers/postgres-binaries.ts';
import { type Service, startServer } from '../../src/dev-servers/server.ts';
import { createTemporaryFolder } from '../../src/dev-servers/temporary-folder.ts';

/** Files of a running server that do not belong into a copy of its data. */
const LEFT_OUT = new Set(['pg_wal', 'postmaster.pid', 'postmaster.opts', 'pg_replslot', 'pg_stat_tmp', 'pg_subtrans']);

const MAX_ATTEMPTS = 10;

/** Copies the files of a running server, which may remove a temporary file while it is being copied. */
function copyFiles(source: string, target: string): void {
  const filter = (path: string) => !LEFT_OUT.has(relative(source, path).split(sep)[0]!);
  for (let attempt = 1; ; attempt++) {
    try {
      cpSync(source, target, { recursive: true, preserveTimestamps: true, filter });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempt === MAX_ATTEMPTS) throw error;
      rmSync(target, { recursive: true, force: true });
    }
  }
}

/** Copies the data of a running server into a folder, as pg_basebackup does, which is not among npm's binaries. */
async function copyData(primaryUrl: string, folder: string): Promise<void> {
  const client = new Client({ connectionString: primaryUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ data_directory: string }>('show data_directory');
    const source = rows[0]!.data_directory;
    await client.query(`select pg_backup_start('replica', true)`);
    copyFiles(source, folder);
    const backup = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
    writeFileSync(join(folder, 'backup_label'), backup.rows[0]!.labelfile);
  } finally {
    await client.end();
  }
  for (const name of LEFT_OUT) if (name.startsWith('pg_')) mkdirSync(join(folder, name), { mode: 0o700 });
  mkdirSync(join(folder, 'pg_wal', 'archive_status'), { mode: 0o700 });
  mkdirSync(join(folder, 'pg_wal', 'summaries'), { mode: 0o700 });
  writeFileSync(join(folder, 'standby.signal'), '');
  const { hostname, port, username, password } = new URL(primaryUrl);
  const user = `user=${decodeURIComponent(username)} password=${decodeURIComponent(password)}`;
  // In a file, because everyone on the machine can read the arguments of a program.
  appendFileSync(join(folder, 'postgresql.auto.conf'), `primary_conninfo = 'host=${hostname} port=${port} ${user}'\n`);
}

/** Gives files to the user that Postgres runs as. */
function chownAll(folder: string, { uid, gid }: { uid: number; gid: number }): void {
  for (const name of readdirSync(folder, { recursive: true }) as string[]) chownSync(join(folder, name), uid, gid);
  chownSync(folder, uid, gid);
}

/**
 * Starts a streaming replica of a Postgres that `startPostgres` has started on this machine. All data is removed by `stop()` or when this
 * process dies. The primary must keep its log for long enough, for example with `wal_keep_size=512MB`.
 *
 * @param settings such as `max_standby_streaming_delay=0`
 */
export async function startPostgresReplica(primaryUrl: string, settings: readonly string[] = []): Promise<Service> {
  const account = ensurePostgresAccount();
  const { bin } = preparePostgresBinaries(account);
  const folder = createTemporaryFolder('replica', account, true);
  const data = join(folder, 'data');
  await copyData(primaryUrl, data);
  chmodSync(data, 0o700);
  if (account) chownAll(data, account);
  const all = [
    'max_connections=300',
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'fsync=off',
    'hot_standby=on',
    'wal_receiver_status_interval=1s',
    ...settings,
  ];
  const urlAt = (port: number) => {
    const url = new URL(primaryUrl);
    url.port = String(port);
    return url.href;
  };
  const { port, stop } = await startServer({
    name: 'The replica',
    folder,
    command: (port) => ({
      command: join(bin, 'postgres'),
      args: ['-D', data, '-p', String(port), ...all.flatMap((setting) => ['-c', setting])],
      ...account,
    }),
    stopSignal: 'SIGINT',
    throwAway: true,
    ping: (port) => pingPostgres(urlAt(port)),
  });
  return { url: urlAt(port), from: `a replica on port ${port}, throw-away`, stop };
}
