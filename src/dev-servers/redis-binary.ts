import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The command of a Redis server. */
export interface RedisBinary {
  command: string;
  /** The name that it must be started under, if it differs from its file name. */
  argv0?: string;
  /** The name of the server: `redis-server` or `valkey-server`. */
  name: string;
  version: string;
}

// The Debian package redis-tools contains the server's binary under this name. The package redis-server only adds a
// link to it, and a system service, which must not start here.
const candidates = [
  { name: 'redis-server' },
  { name: 'valkey-server' },
  { name: 'redis-check-rdb', argv0: 'redis-server' },
  { name: 'valkey-check-rdb', argv0: 'valkey-server' },
];

/**
 * Looks for a Redis or Valkey server on the PATH and in the folders of package managers.
 *
 * @param wanted `redis-server` or `valkey-server`; default: any of them
 */
export function findRedis(wanted?: string): RedisBinary | undefined {
  const usualFolders = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...usualFolders];
  for (const { name, argv0 } of candidates) {
    if (wanted !== undefined && wanted !== (argv0 ?? name)) continue;
    for (const folder of folders) {
      const command = join(folder, name);
      try {
        accessSync(command, constants.X_OK);
      } catch {
        continue;
      }
      const { stdout } = spawnSync(command, ['--version'], {
        encoding: 'utf8',
        argv0: argv0 ?? command,
        timeout: 5000,
      });
      const version = /server v=([\d.]+)/.exec(stdout ?? '')?.[1];
      if (version) return { command, version, name: argv0 ?? name, ...(argv0 && { argv0 }) };
    }
  }
  return undefined;
}

function runCommand(command: string, args: string[], env: NodeJS.ProcessEnv = {}): string | undefined {
  const options = { encoding: 'utf8', env: { ...process.env, ...env }, maxBuffer: 1 << 26 } as const;
  const { status, stdout, stderr, error } = spawnSync(command, args, options);
  return status === 0 ? undefined : `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`;
}

function isOnPath(name: string): boolean {
  return spawnSync('/bin/sh', ['-c', `command -v ${name}`]).status === 0;
}

/**
 * Installs a Redis server with the system's package manager if that needs no password: apt-get as root, or Homebrew. It starts
 * no service. If it cannot install a server, it throws an error with the command to run.
 */
export function installRedis(announce: (line: string) => void): RedisBinary {
  const root = process.getuid?.() === 0;
  let failure: string | undefined;
  if (root && isOnPath('apt-get')) {
    announce('Redis: not found, installing redis-tools with apt-get (no service is started) ...');
    const wait = ['-o', 'DPkg::Lock::Timeout=120'];
    // An update that fails for one of several sources may not matter.
    runCommand('apt-get', ['update', '-qq', ...wait]);
    const quiet = { DEBIAN_FRONTEND: 'noninteractive', NEEDRESTART_SUSPEND: '1' };
    failure = runCommand('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...wait, 'redis-tools'], quiet);
  } else if (!root && isOnPath('brew')) {
    announce('Redis: not found, installing it with Homebrew (no service is started) ...');
    failure = runCommand('brew', ['install', '--quiet', 'redis'], { HOMEBREW_NO_AUTO_UPDATE: '1' });
  }
  const installed = findRedis();
  if (installed) return installed;
  const sudo = root ? '' : 'sudo ';
  const manualInstall = [
    ['apt-get', `${sudo}apt-get update && ${sudo}apt-get install -y redis-server`],
    ['dnf', `${sudo}dnf install -y valkey`],
    ['pacman', `${sudo}pacman -S --noconfirm valkey`],
    ['apk', `${sudo}apk add redis`],
    ['brew', 'brew install redis'],
  ].find(([manager]) => isOnPath(manager!));
  throw new Error(
    `${failure ? `${failure.trim()}\n` : ''}No Redis server found on this machine. Install one with\n\n    ${
      manualInstall?.[1] ?? 'the package manager of this system (package redis or valkey)'
    }\n\nor set REDIS_URL (TEST_REDIS_URL for tests) to a running one, then run the command again.`,
  );
}
