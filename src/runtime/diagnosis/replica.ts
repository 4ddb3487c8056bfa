import pg from 'pg';
import type { Platform } from '../../platform/platform.ts';
import { describePostgresProblem, suggestPostgresFix } from '../../platform/postgres/problems.ts';
import { createClientConfig } from '../../platform/postgres/session.ts';
import { type Finding, ok, warning } from './finding.ts';

const VARIABLE = 'DATABASE_REPLICA_URL';

/** Checks the read replica, if there is one. Without it the app runs, and reads from the primary. */
export async function diagnoseReplica({ env }: Platform): Promise<Finding[]> {
  if (env.replica === undefined) return [];
  const { url } = env.replica;
  const address = `The read replica at ${new URL(url).host}`;
  const client = new pg.Client(createClientConfig(url, env.redisPrefix, false));
  // Without a listener, a connection lost between two statements would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ is: boolean }>('select pg_is_in_recovery() as is');
    if (rows[0]!.is) return [ok(`${address} responds`)];
    return [warning(`${address} is not a replica: it accepts writes`, `check ${VARIABLE} (docs/replicas.md)`)];
  } catch (error) {
    return [warning(`${address} ${describePostgresProblem(error)}`, suggestPostgresFix(error, VARIABLE))];
  } finally {
    await client.end();
  }
}
