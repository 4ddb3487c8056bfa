import type { PgTable } from 'drizzle-orm/pg-core';
import { withDeadline } from '../platform/concurrency/deadline.ts';
import { checkKeys } from '../platform/crypto/register-keys.ts';
import type { Platform } from '../platform/platform.ts';
import { areConnectionsAvailable, readConnectionLimits } from '../platform/postgres/server-limits.ts';
import { connectAndCheckRedis, describeEviction } from '../platform/redis/check.ts';
import { describeRedisProblem } from '../platform/redis/problems.ts';
import { findMissingSchemaParts } from './migrations/check-schema.ts';

/** A result of `belfry doctor`. */
export interface Finding {
  level: 'ok' | 'warning' | 'error';
  /** What was found, one sentence. */
  message: string;
  /** What to do about it. */
  fix?: string;
}

/** What the checks need of an app. */
interface DiagnosedApp {
  platform: Platform;
  tables: Record<string, PgTable>;
}

const DEADLINE_MS = 5000;
/** The oldest version that the Postgres project still maintains, as in `server_version_num`. */
const OLDEST_POSTGRES = 150_000;
/** Sessions, signatures of webhooks and one-time codes tolerate a difference of a few seconds. */
const MAX_CLOCK_DIFFERENCE_MS = 2000;

const ok = (message: string): Finding => ({ level: 'ok', message });
const warning = (message: string, fix: string): Finding => ({ level: 'warning', message, fix });
const failure = (message: string, fix: string): Finding => ({ level: 'error', message, fix });

function checkEnvironment({ env, settings }: Platform): Finding[] {
  const findings = [ok(`The environment is valid (NODE_ENV=${env.nodeEnv})`)];
  if (env.nodeEnv !== 'production') return findings;
  if (env.appUrl?.startsWith('http:'))
    findings.push(warning('APP_URL starts with http:', 'serve the app over HTTPS: tokens are sent in every request'));
  if (env.trustProxy === undefined) {
    findings.push(
      warning(
        'TRUST_PROXY is not set',
        'behind a proxy or load balancer, set it: otherwise all clients share one rate limit (docs/rate-limits.md)',
      ),
    );
  }
  if (env.smtp === undefined)
    findings.push(warning('SMTP_URL is not set', 'set SMTP_URL and MAIL_FROM: e-mails, such as password resets, wait'));
  if (env.corsOrigins.includes('*'))
    findings.push(warning('CORS_ORIGINS allows every origin', 'list the origins of your front ends'));
  if (settings.auth.enabled && env.encryptionKeys.length === 0)
    findings.push(failure('SVC_ENCRYPTION_KEYS is not set', 'generate a key: npx belfry keys generate'));
  return findings;
}

/** Compares the clock of a server, in epoch ms, with the clock of this machine before and after the question. */
function checkClock(server: string, serverMs: number, askedMs: number, answeredMs: number): Finding {
  const difference = Math.round(serverMs - (askedMs + answeredMs) / 2);
  // A slow network does not make a clock wrong.
  const uncertainty = (answeredMs - askedMs) / 2;
  if (Math.abs(difference) - uncertainty <= MAX_CLOCK_DIFFERENCE_MS)
    return ok(`The clocks of ${server} and this machine agree`);
  const seconds = (Math.abs(difference) / 1000).toFixed(1);
  return warning(
    `The clock of ${server} is ${seconds} s ${difference > 0 ? 'ahead of' : 'behind'} the clock of this machine`,
    'synchronize both with NTP: signatures, sessions and one-time codes depend on the time',
  );
}

async function checkPostgres({ platform, tables }: DiagnosedApp): Promise<Finding[]> {
  const { database, env } = platform;
  const address = `Postgres at ${new URL(env.databaseUrl).host}`;
  const asked = Date.now();
  let row: [version: string, number: number, encoding: string, epochMs: number];
  try {
    const text = `select current_setting('server_version'), current_setting('server_version_num')::int,
      current_setting('server_encoding'), extract(epoch from clock_timestamp())::float8 * 1000`;
    [row] = (await withDeadline(database.write({ text, values: [] }), DEADLINE_MS)) as [typeof row];
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    return [failure(`${address} cannot be reached: ${message || code}`, 'check DATABASE_URL, and that Postgres runs')];
  }
  const [version, number, encoding, epochMs] = row;
  const findings = [ok(`${address} responds (${version.split(' ')[0]})`)];
  findings.push(checkClock('Postgres', Number(epochMs), asked, Date.now()));
  if (number < OLDEST_POSTGRES)
    findings.push(warning(`Postgres ${version} gets no fixes any more`, 'upgrade to a version that is maintained'));
  if (encoding !== 'UTF8')
    findings.push(failure(`The database has the encoding ${encoding}`, 'create it with the encoding UTF8'));
  const limits = await readConnectionLimits(database).catch(() => undefined);
  if (limits !== undefined && !areConnectionsAvailable(limits)) {
    findings.push(
      warning(
        `${limits.poolMax} connections per process do not fit: ${limits.allowed} are allowed, ${limits.openElsewhere} are open elsewhere`,
        'lower POOL_MAX, or use a pooler (docs/hosting.md)',
      ),
    );
  }
  const missing = await findMissingSchemaParts(database, tables);
  if (missing.length > 0) {
    const listed = missing.slice(0, 3).join(', ') + (missing.length > 3 ? ` and ${missing.length - 3} more` : '');
    const fix = 'run npx belfry migration generate (if the declarations changed), then npx belfry migrate';
    return [...findings, failure(`The database lacks ${listed}`, fix)];
  }
  findings.push(ok('The database has everything that is declared'));
  for (const problem of await checkKeys(platform)) findings.push(failure(problem, 'see docs/encryption.md'));
  return findings;
}

async function checkRedis({ redis, env }: Platform): Promise<Finding[]> {
  const address = `Redis at ${redis.address}`;
  try {
    const { versions, evictionPolicy } = await withDeadline(connectAndCheckRedis({ redis, env }), DEADLINE_MS);
    const findings = [ok(`${address} accepts writes${versions.length > 0 ? ` (${versions.join(', ')})` : ''}`)];
    if (evictionPolicy !== undefined)
      findings.push(warning(`${address} ${describeEviction(evictionPolicy)}`, 'set maxmemory-policy noeviction'));
    const asked = Date.now();
    const [seconds = 0, micros = 0] = (await redis.commands.time()).map(Number);
    findings.push(checkClock('Redis', seconds * 1000 + micros / 1000, asked, Date.now()));
    return findings;
  } catch (error) {
    return [
      failure(`${address} ${describeRedisProblem(error, env.redisPrefix)}`, 'check REDIS_URL, and that Redis runs'),
    ];
  }
}

/** Checks the environment of an app, its servers, the database and the clocks. Changes nothing. */
export async function diagnose(app: DiagnosedApp): Promise<Finding[]> {
  const checks = await Promise.all([checkPostgres(app), checkRedis(app.platform)]);
  return [...checkEnvironment(app.platform), ...checks.flat()];
}
