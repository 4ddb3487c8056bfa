import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const APT_GET = '/usr/bin/apt-get';
const POLICY = '/usr/sbin/policy-rc.d';

/** Returns the path of a program on the PATH or in the usual folders of servers. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin'];
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

/** Installs a package with apt-get if this process is root on Debian. The policy keeps Debian from starting it as a service. */
export function installDebianPackage(name: string): void {
  if (process.getuid?.() !== 0 || !existsSync(APT_GET)) return;
  const hasPolicy = existsSync(POLICY);
  if (!hasPolicy) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', NEEDRESTART_SUSPEND: '1' };
  const options = ['-qq', '-o', 'DPkg::Lock::Timeout=120'];
  spawnSync(APT_GET, ['update', ...options], { env });
  spawnSync(APT_GET, ['install', '-y', '--no-install-recommends', ...options, name], { env });
  if (!hasPolicy) rmSync(POLICY, { force: true });
}
