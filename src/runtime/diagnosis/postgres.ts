import pg from 'pg';
import { checkKeys } from '../../platform/data/crypto/register-keys.ts';
import { CASE_FIX, CASE_PROBLEM, findAsciiOnlyLocale } from '../../platform/data/postgres/locale.ts';
import { describePostgresProblem, suggestPostgresFix } from '../../platform/data/postgres/problems.ts';
import { areConnectionsAvailable, readConnectionLimits } from '../../platform/data/postgres/server-limits.ts';
import { createClientConfig } from '../../platform/data/postgres/session.ts';
import { withDeadline } from '../../platform/helpers/concurrency/deadline.ts';
import { compareClocks, type Finding, failure, ok, warning } from '../../platform/observability/finding.ts';
import type { Platform } from '../../platform/platform.ts';
import { readConnectionShare } from '../connections/share-connections.ts';
import { type DeclaredSchema, findMissingSchemaParts } from '../migrations/check-schema.ts';
import { diagnoseMigrations, type MigrationDiagnosis } from './migrations.ts';

const REPLICA_VARIABLE = 'DATABASE_REPLICA_URL';
const DEADLINE_MS = 5000;
/** The oldest version that the Postgres project still maintains, as in `server_version_num`. */
const OLDEST_VERSION = 150_000;
const MAX_LISTED = 3;

const SELECT_FACTS = `select current_setting('server_version'), current_setting('server_version_num')::int,
  current_setting('server_encoding'), extract(epoch from clock_timestamp())::float8 * 1000`;

type Facts = [version: string, number: number, encoding: string, epochMs: number];

async function diagnoseServer({ database, env }: Platform): Promise<Finding[]> {
  const address = `Postgres at ${new URL(env.databaseUrl).host}`;
  const asked = Date.now();
  const [row] = await withDeadline(database.write<Facts>({ text: SELECT_FACTS, values: [] }), DEADLINE_MS);
  const [version, number, encoding, epochMs] = row!;
  const findings = [
    ok(`${address} responds (${version.split(' ')[0]})`),
    compareClocks('Postgres', Number(epochMs), asked, Date.now()),
  ];
  if (number < OLDEST_VERSION)
    findings.push(
      warning(`Postgres ${version} no longer gets security fixes`, 'upgrade to a version that is maintained'),
    );
  if (encoding !== 'UTF8')
    findings.push(failure(`The database has the encoding ${encoding}`, 'create it again with the encoding UTF8'));
  const locale = await findAsciiOnlyLocale(database);
  if (locale !== undefined) findings.push(warning(`The database has the locale ${locale}: ${CASE_PROBLEM}`, CASE_FIX));
  return findings;
}

async function diagnoseConnectionLimits(platform: Platform, redisChecked: Promise<unknown>): Promise<Finding[]> {
  const { database, env } = platform;
  // Without the table of processes, an app that is not installed yet, nothing is known.
  const limits = await readConnectionLimits(database).catch(() => undefined);
  if (limits === undefined) return [];
  const { poolMax, allowed, openElsewhere } = limits;
  const isShared = env.poolMax === undefined && limits.pooler === 'none';
  // Which processes share the connections is in Redis.
  await redisChecked;
  const share = isShared ? await readConnectionShare(platform, false).catch(() => undefined) : undefined;
  if (share !== undefined && share.webs * share.poolMax + share.openElsewhere <= share.allowed)
    return [ok(`Postgres allows ${allowed} connections: each web process uses up to ${share.poolMax} of them`)];
  if (areConnectionsAvailable(limits)) return [];
  return [
    warning(
      `${poolMax} connections per process do not fit: ${allowed} are allowed, and other programs have ${openElsewhere}`,
      'lower POOL_MAX, or use a pooler (docs/operate/hosting.md)',
    ),
  ];
}

async function diagnoseTables(
  platform: Platform,
  schema: DeclaredSchema,
  mode: MigrationDiagnosis['mode'],
): Promise<Finding[]> {
  const missing = await findMissingSchemaParts(platform.database, schema);
  if (missing.length > 0) {
    const more = missing.length > MAX_LISTED ? ` and ${missing.length - MAX_LISTED} more` : '';
    const fix =
      mode === 'sync'
        ? 'start npx belfry dev, which updates the tables'
        : 'if the declarations changed, run npx belfry migration generate, then npx belfry migrate; if not, the database was changed by hand';
    return [failure(`The database lacks ${missing.slice(0, MAX_LISTED).join(', ')}${more}`, fix)];
  }
  const keyErrors = await checkKeys(platform);
  return [
    ok('The database has everything that the app declares'),
    ...keyErrors.map((error) => failure(`Encryption: ${error}`, 'see docs/build/encryption.md')),
  ];
}

/** Describes why Postgres is not usable. */
export function describePostgresFailure(error: unknown, { databaseUrl }: Platform['env']): Finding {
  const address = `Postgres at ${new URL(databaseUrl).host}`;
  return failure(`${address} ${describePostgresProblem(error)}`, suggestPostgresFix(error, 'DATABASE_URL'));
}

/**
 * Checks Postgres: the connection, the version, the clock, the migrations, the tables and the keys of encrypted values.
 *
 * @param folder the folder of the project's migrations
 * @param redisChecked resolves when the check of Redis has ended, which connects to it
 */
export async function diagnosePostgres(
  platform: Platform,
  schema: DeclaredSchema,
  folder: string,
  redisChecked: Promise<unknown>,
): Promise<Finding[]> {
  const { env } = platform;
  const findings: Finding[] = [];
  try {
    findings.push(...(await diagnoseServer(platform)), ...(await diagnoseConnectionLimits(platform, redisChecked)));
    const migrations = await diagnoseMigrations(env, folder);
    findings.push(...migrations.findings);
    // Pending migrations create what the tables lack.
    if (!migrations.findings.some(({ level }) => level === 'error'))
      findings.push(...(await diagnoseTables(platform, schema, migrations.mode)));
  } catch (error) {
    findings.push(describePostgresFailure(error, env));
  }
  return findings;
}

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
    return [
      warning(`${address} is not a replica: it accepts writes`, `check ${REPLICA_VARIABLE} (docs/operate/replicas.md)`),
    ];
  } catch (error) {
    return [warning(`${address} ${describePostgresProblem(error)}`, suggestPostgresFix(error, REPLICA_VARIABLE))];
  } finally {
    await client.end();
  }
}
