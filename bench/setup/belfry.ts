import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { request } from 'undici';
import type { Bench } from '../figure.ts';
import type { Child } from './children.ts';
import { resetDatabase, withClient } from './database.ts';
import { createBelfryEnvironment, REDIS_PREFIX, type Role } from './environment.ts';
import { getSessionToken } from './seed.ts';

/** Starts Belfry in one role, in its own process. */
export function startBelfry(bench: Bench, role: Role, extraEnvironment: Record<string, string> = {}): Promise<Child> {
  const program = new URL('../processes/belfry.ts', import.meta.url);
  return bench.children.start(program, { ...createBelfryEnvironment(bench.servers, role), ...extraEnvironment });
}

/**
 * Starts a receiver, and creates an endpoint at it for each of the first users.
 *
 * @param responseMs how long it takes to respond
 * @param event the event that the endpoints get
 */
export async function startReceiver(bench: Bench, users: number, responseMs = 0, event?: string): Promise<Child> {
  const program = new URL('../processes/receiver.ts', import.meta.url);
  const receiver = await bench.children.start(program, { RESPONSE_MS: String(responseMs) });
  await addEndpoints(
    bench,
    receiver,
    Array.from({ length: users }, (_, user) => user),
    event,
  );
  return receiver;
}

/** Creates an endpoint at a receiver for a user, through the API of a web process. */
export async function createEndpoint(
  web: Child,
  receiver: Child,
  user: number,
  event = 'article.created',
): Promise<void> {
  const { statusCode, body } = await request(`${web.url}/api/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${getSessionToken(user)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: `${receiver.url}/`, events: [event] }),
  });
  if (statusCode !== 201)
    throw new Error(`The endpoint was not created: POST /api/webhooks returned ${statusCode} ${await body.text()}`);
  await body.dump();
}

/** Creates an endpoint at a receiver for each user. */
export async function addEndpoints(
  bench: Bench,
  receiver: Child,
  users: readonly number[],
  event?: string,
): Promise<void> {
  const web = await startBelfry(bench, 'web');
  for (const user of users) await createEndpoint(web, receiver, user, event);
  await web.stop();
}

/**
 * Waits until the jobs of webhook endpoints have ended, also those that wait for new deliveries. Otherwise emptying Redis would take jobs
 * away from their worker.
 */
export async function waitUntilEndpointJobsEnd({ servers }: Bench): Promise<void> {
  const redis = new Redis(servers.redisUrl);
  while ((await redis.llen(`${REDIS_PREFIX}:{webhooks}:webhooks:active`)) > 0) await sleep(50);
  redis.disconnect();
}

/** Removes everything that a measurement left in Postgres and Redis, except endpoints. */
export async function resetDatabaseAndRedis({ servers }: Bench): Promise<void> {
  await resetDatabase(servers.databaseUrl);
  const redis = new Redis(servers.redisUrl);
  await redis.flushall();
  redis.disconnect();
}

/** Removes the endpoints too. */
export async function removeEndpoints(bench: Bench): Promise<void> {
  await resetDatabaseAndRedis(bench);
  await withClient(bench.servers.databaseUrl, (client) => client.query('truncate webhook_endpoints cascade'));
}
