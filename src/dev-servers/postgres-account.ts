import { spawnSync } from 'node:child_process';

/** The system user that runs a server if this process is root. */
export interface Account {
  uid: number;
  gid: number;
}

function readAccountId(name: string, flag: '-u' | '-g'): number | undefined {
  const { status, stdout } = spawnSync('id', [flag, name], { encoding: 'utf8' });
  return status === 0 ? Number(stdout.trim()) : undefined;
}

/**
 * Returns the user that Postgres must run as. Postgres refuses root, so for root it is the system user `postgres`, which is created
 * if it is missing. Undefined if this process is not root. Throws if the user cannot be created.
 */
export function ensurePostgresAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (readAccountId('postgres', '-u') === undefined) {
    const made = spawnSync('useradd', ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', 'postgres']);
    if (made.status !== 0)
      throw new Error('Postgres refuses to run as root, and the user "postgres" cannot be created.');
  }
  return { uid: readAccountId('postgres', '-u')!, gid: readAccountId('postgres', '-g')! };
}

/** Returns whether the account may enter a folder (`x`) or write to it (`w`), including every folder above it. */
export function canAccess(account: Account | undefined, folder: string, right: 'x' | 'w'): boolean {
  return spawnSync('/bin/sh', ['-c', `test -${right} "$1"`, 'sh', folder], { cwd: '/', ...account }).status === 0;
}
