import { Redis } from 'ioredis';
import { Client } from 'pg';

/** Resolves when Postgres at this address responds to a query. Rejects if it does not within 2 seconds. */
export async function pingPostgres(url: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select 1');
  } finally {
    await client.end();
  }
}

/** Creates the database of the address if it does not exist. The server must have a database `postgres`. */
export async function ensureDatabase(url: string): Promise<void> {
  const maintenance = new URL(url);
  const name = decodeURIComponent(maintenance.pathname.slice(1));
  maintenance.pathname = '/postgres';
  const client = new Client({ connectionString: maintenance.href });
  await client.connect();
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
    if (!rowCount) await client.query(`create database ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}

/** Resolves when Redis at this address responds to PING. Rejects if it does not within 2 seconds. */
export async function pingRedis(url: string): Promise<void> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 2000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.ping();
  } finally {
    client.disconnect();
  }
}
