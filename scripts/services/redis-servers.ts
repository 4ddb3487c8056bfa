import { randomInt } from 'node:crypto';
import { closeSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis, type RedisOptions } from 'ioredis';
import { findRedis, installRedis, type RedisBinary } from '../../src/dev-servers/redis-binary.ts';
import { runGuarded } from '../../src/dev-servers/run-guarded.ts';
import { createTemporaryFolder } from '../../src/dev-servers/temporary-folder.ts';
import type { TlsFiles } from './certificates.ts';

const PATIENCE_MS = 60_000;

/** Throw-away Redis servers on localhost, for tests. They stop together, at the latest with this process. */
export interface RedisServers {
  ports: readonly number[];
  /** The folder with the configuration, and what the servers write. */
  folder: string;
  stop(): Promise<void>;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/**
 * Returns a free port of which the port for the bus of a cluster, 10000 higher, is free too. Both are below the ports that Linux gives to
 * clients (from 32768): a connection of another process could take such a port before the server listens, and the server would exit.
 */
async function findPort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 22_000);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
}

/** Repeats a check every 50 ms until it returns true. Throws after a minute. */
export async function waitUntil(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(50)) {
    if (await isTrue().catch(() => false)) return;
  }
  throw new Error(`${what} took longer than ${PATIENCE_MS / 1000} s`);
}

/** Runs work with a connection of its own, and closes the connection. */
export async function withRedis<T>(
  options: RedisOptions & { port: number },
  work: (redis: Redis) => Promise<T>,
): Promise<T> {
  const redis = new Redis({ host: '127.0.0.1', lazyConnect: true, retryStrategy: () => null, ...options });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

/** Returns the configuration of a server that also, or only, listens with TLS. It does not ask clients for a certificate. */
export function tlsLines(port: number, { cert, key, ca }: TlsFiles): string[] {
  return [
    `tls-port ${port}`,
    `tls-cert-file ${cert}`,
    `tls-key-file ${key}`,
    `tls-ca-cert-file ${ca}`,
    'tls-auth-clients no',
  ];
}

/**
 * Starts Redis servers under one guard and waits until they listen. They write nothing to disk.
 *
 * @param count the number of ports that the servers use
 * @param configure returns the lines of the configuration of each server. The first server has the first port, and so on; further ports
 *   are for `tlsLines`. A server with a line that begins with `sentinel` is a Sentinel
 * @param binary default: any Redis or Valkey of this machine, installed if there is none
 */
export async function startRedisServers(
  count: number,
  configure: (ports: readonly number[], folder: string) => readonly (readonly string[])[],
  binary: RedisBinary = findRedis() ?? installRedis(() => undefined),
): Promise<RedisServers> {
  const folder = createTemporaryFolder('redis');
  const ports: number[] = [];
  while (ports.length < count) {
    const port = await findPort();
    if (!ports.includes(port)) ports.push(port);
  }
  // The binary decides by its name what it is.
  const command = join(folder, binary.name);
  symlinkSync(binary.command, command);
  const starts = configure(ports, folder).map((lines, index) => {
    const file = join(folder, `${index}.conf`);
    const isSentinel = lines.some((line) => line.startsWith('sentinel '));
    // A server that listens only with TLS sets `port 0` later.
    const common = ['bind 127.0.0.1', ...(isSentinel ? [] : ['save ""', 'appendonly no', `dbfilename ${index}.rdb`])];
    writeFileSync(file, `port ${ports[index]}\ndir ${folder}\n${common.join('\n')}\n${lines.join('\n')}\n`);
    return `'${command}' '${file}' ${isSentinel ? '--sentinel' : ''} &`;
  });
  const log = join(folder, 'server.log');
  const output = openSync(log, 'w', 0o600);
  const guarded = runGuarded(
    {
      command: '/bin/sh',
      args: ['-c', `${starts.join('\n')}\nwait`],
      cwd: '/',
      stopSignal: 'SIGTERM',
      graceMs: 5000,
      pidIn: folder,
      throwAway: folder,
    },
    { PATH: process.env.PATH, HOME: '/', LC_ALL: 'C' },
    output,
  );
  closeSync(output);
  const stop = async () => {
    await guarded.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    for (const port of ports) await waitUntil(`The start of Redis on port ${port}`, () => isListening(port));
  } catch (error) {
    const text = readFileSync(log, 'utf8').trim().split('\n').slice(-8).join('\n');
    await stop();
    throw new Error(`${(error as Error).message}\n${text}`);
  }
  return { ports, folder, stop };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
