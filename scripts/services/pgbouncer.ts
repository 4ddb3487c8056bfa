import { spawnSync } from 'node:child_process';
import { chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pingPostgres } from '../../src/dev-servers/ping.ts';
import { ensurePostgresAccount } from '../../src/dev-servers/postgres-account.ts';
import { type Service, startServer } from '../../src/dev-servers/server.ts';
import { createTemporaryFolder } from '../../src/dev-servers/temporary-folder.ts';
import { findProgram, installDebianPackage } from './debian-package.ts';

/** The program of a PgBouncer. */
export interface PgBouncerBinary {
  command: string;
  /** Whether it can keep prepared statements in transaction mode: since 1.21. */
  keepsStatements: boolean;
}

/** Finds the program at the path in PGBOUNCER, or else on this machine. */
function findPgBouncer(): PgBouncerBinary | undefined {
  const command = process.env.PGBOUNCER || findProgram('pgbouncer');
  if (command === undefined) return undefined;
  const { stdout } = spawnSync(command, ['--version'], { encoding: 'utf8' });
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(stdout ?? '') ?? [];
  if (major === undefined) throw new Error(`${command} is not a PgBouncer`);
  return { command, keepsStatements: Number(major) > 1 || Number(minor) >= 21 };
}

/** Returns the PgBouncer of this machine, and installs it first as root on Debian. Undefined if that is not possible. */
export function providePgBouncer(): PgBouncerBinary | undefined {
  const found = findPgBouncer();
  if (found !== undefined) return found;
  installDebianPackage('pgbouncer');
  return findPgBouncer();
}

/** The settings of a PgBouncer in front of a Postgres on this machine. */
export interface PgBouncerSettings {
  poolMode: 'session' | 'transaction';
  /** The number of connections to Postgres for each database. */
  poolSize: number;
  /** The number of prepared statements that it keeps for each connection; 0: none. */
  preparedStatements?: number;
  /** Further lines of its configuration. */
  lines?: readonly string[];
}

/** Starts a PgBouncer that serves every database of a Postgres. Its address differs from that of Postgres in the port only. */
export async function startPgBouncer(
  { command, keepsStatements }: PgBouncerBinary,
  postgresUrl: string,
  { poolMode, poolSize, preparedStatements = 0, lines = [] }: PgBouncerSettings,
): Promise<Service> {
  // PgBouncer refuses to run as root.
  const account = ensurePostgresAccount();
  const folder = createTemporaryFolder('pgbouncer', account);
  const postgres = new URL(postgresUrl);
  const urlAt = (port: number) => {
    const url = new URL(postgresUrl);
    url.port = String(port);
    return url.href;
  };
  const users = join(folder, 'users.txt');
  const config = join(folder, 'pgbouncer.ini');
  const { port, stop } = await startServer({
    name: 'PgBouncer',
    folder,
    command(port) {
      writeFileSync(users, `"${decodeURIComponent(postgres.username)}" "${decodeURIComponent(postgres.password)}"\n`, {
        mode: 0o600,
      });
      const settings = [
        '[databases]',
        `* = host=${postgres.hostname} port=${postgres.port || 5432}`,
        '[pgbouncer]',
        `listen_addr = 127.0.0.1`,
        `listen_port = ${port}`,
        'unix_socket_dir =',
        'auth_type = scram-sha-256',
        `auth_file = ${users}`,
        `pool_mode = ${poolMode}`,
        `default_pool_size = ${poolSize}`,
        'max_client_conn = 2000',
        ...(keepsStatements ? [`max_prepared_statements = ${preparedStatements}`] : []),
        ...lines,
      ];
      writeFileSync(config, `${settings.join('\n')}\n`, { mode: 0o600 });
      if (account) for (const file of [users, config]) chownSync(file, account.uid, account.gid);
      return { command, args: [config], ...account };
    },
    // The only signal that no version delays until its clients are gone.
    stopSignal: 'SIGQUIT',
    throwAway: true,
    ping: (port) => pingPostgres(urlAt(port)),
  });
  return { url: urlAt(port), from: `${poolMode} mode on port ${port}, throw-away`, stop };
}
