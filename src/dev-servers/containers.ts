import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pingPostgres, pingRedis } from './ping.ts';
import type { Service } from './server.ts';

const POSTGRES_IMAGE = 'postgres:18';
const REDIS_IMAGE = 'redis:7';

/** Returns whether a Docker engine responds. Sends a single ping with a time-out of one second, without loading a client library. */
export async function isDockerRunning(): Promise<boolean> {
  const host = process.env.DOCKER_HOST;
  const sockets = host ? [] : ['/var/run/docker.sock', join(homedir(), '.docker/run/docker.sock')].filter(existsSync);
  if (host?.startsWith('unix://')) sockets.push(host.slice('unix://'.length));
  const tcp = host && /^(tcp|http):\/\//.test(host) ? [new URL(host.replace(/^tcp/, 'http'))] : [];
  const targets = [
    ...sockets.map((socketPath) => ({ socketPath })),
    ...tcp.map((url) => ({ host: url.hostname, port: url.port })),
  ];
  const pings = targets.map(
    (target) =>
      new Promise<boolean>((resolve) => {
        const ping = request({ ...target, path: '/_ping', timeout: 1000 }, (answer) => {
          answer.resume();
          resolve(answer.statusCode === 200);
        });
        ping.on('timeout', () => ping.destroy());
        ping.on('error', () => resolve(false));
        ping.end();
      }),
  );
  return (await Promise.all(pings)).includes(true);
}

interface Image {
  image: string;
  port: number;
  /** The folder where the image keeps its data. */
  dataPath: string;
  environment: Record<string, string>;
  command: string[];
  urlOf: (address: string) => string;
  ping: (url: string) => Promise<void>;
  volume: string | undefined;
}

async function startContainer(settings: Image): Promise<Service> {
  const { GenericContainer, getContainerRuntimeClient } = await import('testcontainers');
  const { image, port, dataPath, environment, command, urlOf, ping, volume } = settings;
  let container = new GenericContainer(image)
    .withEnvironment(environment)
    .withExposedPorts(port)
    .withCommand(command)
    .withStartupTimeout(120_000);
  container = volume
    ? container.withBindMounts([{ source: volume, target: dataPath, mode: 'rw' }])
    : container.withTmpFs({ [dataPath]: 'rw' });
  const started = await container.start();
  const url = urlOf(`${started.getHost()}:${started.getMappedPort(port)}`);
  for (let attempt = 1; ; attempt++) {
    try {
      await ping(url);
      break;
    } catch (error) {
      if (attempt === 200) throw error;
      await sleep(100);
    }
  }
  const { info } = await getContainerRuntimeClient();
  const from = `container ${image} (${info.containerRuntime.host}), ${volume ? `data in volume ${volume}` : 'throw-away'}`;
  return { url, from, stop: async () => void (await started.stop({ timeout: 10_000 })) };
}

/**
 * Returns the name of the volume for a service's development data. It comes from a note in the data folder, so that an emptied
 * data folder gets new volumes.
 */
function volumeFor(kind: string, dataDir: string | undefined): string | undefined {
  if (dataDir === undefined) return undefined;
  const note = join(dataDir, 'volumes.id');
  if (!existsSync(note)) writeFileSync(note, randomBytes(6).toString('hex'));
  return `belfry-${readFileSync(note, 'utf8')}-${kind}`;
}

/** Starts Postgres in a container. With `dataDir`, its data is kept in a volume. Throws if the container cannot start. */
export function startPostgresContainer(dataDir: string | undefined): Promise<Service> {
  const password = dataDir === undefined ? randomBytes(18).toString('hex') : 'belfry';
  const settings = ['max_connections=300'];
  if (dataDir === undefined) settings.push('fsync=off', 'synchronous_commit=off', 'full_page_writes=off');
  return startContainer({
    image: POSTGRES_IMAGE,
    port: 5432,
    dataPath: '/var/lib/postgresql',
    environment: {
      POSTGRES_PASSWORD: password,
      POSTGRES_INITDB_ARGS: '--encoding=UTF8 --locale=C --locale-provider=builtin --builtin-locale=C.UTF-8',
      ...(dataDir !== undefined && { POSTGRES_DB: 'belfry' }),
    },
    command: ['postgres', ...settings.flatMap((setting) => ['-c', setting])],
    urlOf: (address) => `postgres://postgres:${password}@${address}/${dataDir === undefined ? 'postgres' : 'belfry'}`,
    ping: pingPostgres,
    volume: volumeFor('postgres', dataDir),
  });
}

/** Starts Redis in a container. With `dataDir`, its data is kept in a volume. Throws if the container cannot start. */
export function startRedisContainer(dataDir: string | undefined): Promise<Service> {
  const keep = dataDir === undefined ? ['--appendonly', 'no'] : ['--appendonly', 'yes', '--appendfsync', 'everysec'];
  return startContainer({
    image: REDIS_IMAGE,
    port: 6379,
    dataPath: '/data',
    environment: {},
    command: ['redis-server', '--save', '', '--maxmemory-policy', 'noeviction', ...keep],
    urlOf: (address) => `redis://${address}`,
    ping: pingRedis,
    volume: volumeFor('redis', dataDir),
  });
}
