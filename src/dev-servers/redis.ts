import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stopOrphanedServer } from './orphaned-server.ts';
import { pingRedis } from './ping.ts';
import { findRedis, installRedis } from './redis-binary.ts';
import { type Service, startServer } from './server.ts';
import { createTemporaryFolder } from './temporary-folder.ts';

/**
 * Starts a Redis on a free port of localhost and installs one first if the machine has none. With `dataDir`
 * it keeps its data there (append-only file, synced every second). Without it, it writes nothing to disk.
 */
export async function startRedis(dataDir: string | undefined, announce: (line: string) => void): Promise<Service> {
  const throwAway = dataDir === undefined;
  const binary = findRedis() ?? installRedis(announce);
  const folder = throwAway ? createTemporaryFolder('redis') : join(dataDir, 'redis');
  mkdirSync(folder, { recursive: true });
  await stopOrphanedServer(folder);
  const password = randomBytes(18).toString('hex');
  const config = join(folder, 'redis.conf');
  const { port, stop, unref } = await startServer({
    name: 'Redis',
    folder,
    command: (port) => {
      // BullMQ loses jobs if Redis evicts keys. The settings are in a file, because the command line would show the password.
      const lines = [`port ${port}`, 'bind 127.0.0.1', `dir ${JSON.stringify(folder)}`, `requirepass ${password}`];
      lines.push(
        'maxmemory-policy noeviction',
        'save ""',
        `appendonly ${throwAway ? 'no' : 'yes'}`,
        'appendfsync everysec',
      );
      writeFileSync(config, `${lines.join('\n')}\n`, { mode: 0o600 });
      return { command: binary.command, args: [config], ...(binary.argv0 && { argv0: binary.argv0 }) };
    },
    stopSignal: 'SIGTERM',
    throwAway,
    ping: (port) => pingRedis(`redis://:${password}@127.0.0.1:${port}`),
  });
  const from = `${binary.name} ${binary.version} on port ${port}, ${throwAway ? 'throw-away' : `data in ${folder}`}`;
  return { url: `redis://:${password}@127.0.0.1:${port}`, from, stop, unref };
}
