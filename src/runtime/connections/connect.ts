import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { isClosed, isStatementTimeout, isTransient } from '../../platform/data/postgres/errors.ts';
import { describePostgresProblem, suggestPostgresFix } from '../../platform/data/postgres/problems.ts';
import { connectAndCheckRedis, describeEviction } from '../../platform/data/redis/check.ts';
import { describeRedisProblem, RedisProblem, suggestRedisFix } from '../../platform/data/redis/problems.ts';
import { StartupError } from '../../platform/helpers/config-errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { assertSameDatabase, connectForMigrations } from '../migrations/direct-connection.ts';

const ATTEMPTS = 5;
const FIRST_WAIT_MS = 500;

/** A server to connect to. */
interface Server {
  /** The server as the start of a sentence: `Postgres at db.example.com:5432`. */
  name: string;
  connect(): Promise<unknown>;
  /** Describes an error as the rest of that sentence. */
  describe(error: unknown): string;
  /** Returns what to do about an error; undefined if its description says that. */
  suggestFix(error: unknown): string | undefined;
}

function postgresServer(url: string, variable: string, connect: () => Promise<unknown>): Server {
  return {
    name: `Postgres at ${hostOf(url)}`,
    connect,
    describe: describePostgresProblem,
    suggestFix: (error) => suggestPostgresFix(error, variable),
  };
}

/** Tries up to 5 times to connect to a server. Returns the last error and what to do about it, or undefined once connected. */
async function tryToConnect(server: Server, log: Platform['log']): Promise<string | undefined> {
  for (let attempts = 1; ; attempts++) {
    try {
      await server.connect();
      return undefined;
    } catch (error) {
      if (error instanceof StartupError || isClosed(error)) throw error;
      const problem = `${server.name} ${server.describe(error)}`;
      // Another attempt would find the same server.
      if (attempts === ATTEMPTS || error instanceof RedisProblem)
        return [problem, server.suggestFix(error)].filter((part) => part !== undefined).join('; ');
      const wait = FIRST_WAIT_MS * 2 ** (attempts - 1);
      log.warn(`${problem}; trying again in ${wait} ms (attempt ${attempts} of ${ATTEMPTS})`);
      await sleep(wait);
    }
  }
}

/** Returns `host:port` of a server URL, without user name and password. */
function hostOf(url: string): string {
  return new URL(url).host;
}

function connectPostgres({ env, database, log }: Platform): Promise<string | undefined> {
  const ping = () => database.write({ text: 'select 1', values: [] });
  return tryToConnect(postgresServer(env.databaseUrl, 'DATABASE_URL', ping), log);
}

function connectRedis(platform: Platform): Promise<string | undefined> {
  const { env, redis, log } = platform;
  const name = `Redis at ${redis.address}`;
  const describe = (error: unknown) => describeRedisProblem(error, env.redisPrefix);
  const connect = async () => {
    const { evictionPolicy = 'noeviction' } = await connectAndCheckRedis(platform);
    if (evictionPolicy !== 'noeviction')
      log.warn(`${name} ${describeEviction(evictionPolicy)}. Set maxmemory-policy noeviction`);
  };
  return tryToConnect({ name, connect, describe, suggestFix: suggestRedisFix }, log);
}

function throwIfAnyProblem(problems: readonly (string | undefined)[]): void {
  const errors = problems.filter((problem) => problem !== undefined);
  if (errors.length > 0) throw new StartupError('The app cannot use its servers:', errors);
}

/**
 * Waits until the servers are reachable, then runs the work. If the connection to Postgres is lost while it runs, for example because
 * Postgres restarts, waits and runs the work again. If the process exited instead, its platform would restart it with growing delays.
 */
async function runOnceConnected<T>(
  platform: Platform,
  connect: () => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    await connect();
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || isClosed(error) || isStatementTimeout(error)) throw error;
      const problem = `The connection to Postgres at ${hostOf(platform.env.databaseUrl)} was lost: ${(error as Error).message}`;
      if (attempts === ATTEMPTS) throwIfAnyProblem([problem]);
      platform.log.warn(`${problem}; trying again (attempt ${attempts} of ${ATTEMPTS})`);
    }
  }
}

/**
 * Waits for Postgres, then runs work with it. The work runs again if the connection is lost while it runs.
 *
 * @throws StartupError if Postgres cannot be reached
 */
export function withPostgres<T>(platform: Platform, work: () => Promise<T>): Promise<T> {
  return runOnceConnected(platform, async () => throwIfAnyProblem([await connectPostgres(platform)]), work);
}

/**
 * Waits for Postgres and Redis, then runs work with them. The work runs again if the connection to Postgres is lost while it runs.
 *
 * @throws StartupError naming each server that cannot be reached
 */
export function withPostgresAndRedis<T>(platform: Platform, work: () => Promise<T>): Promise<T> {
  const connect = async () => throwIfAnyProblem(await Promise.all([connectPostgres(platform), connectRedis(platform)]));
  return runOnceConnected(platform, connect, work);
}

/**
 * Waits for Postgres, then runs work with a connection for migrations, which is closed afterwards. The work runs again if the connection is
 * lost while it runs.
 *
 * @throws StartupError if Postgres cannot be reached, or only through a pooler, or if the direct address leads to another database
 */
export function withMigrationClient<T>(platform: Platform, work: (client: Client) => Promise<T>): Promise<T> {
  const { env, log } = platform;
  let client: Client;
  const open = async () => {
    client = await connectForMigrations(env);
  };
  const server =
    env.databaseDirectUrl === undefined
      ? postgresServer(env.databaseUrl, 'DATABASE_URL', open)
      : postgresServer(env.databaseDirectUrl, 'DATABASE_DIRECT_URL', open);
  const connect = async () => throwIfAnyProblem([await tryToConnect(server, log)]);
  return runOnceConnected(platform, connect, async () => {
    try {
      if (env.databaseDirectUrl !== undefined) {
        const compare = () => assertSameDatabase(client, env);
        throwIfAnyProblem([await tryToConnect(postgresServer(env.databaseUrl, 'DATABASE_URL', compare), log)]);
      }
      return await work(client);
    } finally {
      await client.end();
    }
  });
}
