import { join } from 'node:path';
import type { FeatureParts } from '../../declare/extension.ts';
import type { Files } from '../../files/index.ts';
import { connectAndCheckRedis, describeEviction } from '../../platform/data/redis/check.ts';
import { describeRedisProblem, suggestRedisFix } from '../../platform/data/redis/problems.ts';
import { withDeadline } from '../../platform/helpers/concurrency/deadline.ts';
import { compareClocks, type Finding, failure, ok, warning } from '../../platform/observability/finding.ts';
import type { Platform } from '../../platform/platform.ts';
import type { DeclaredSchema } from '../migrations/check-schema.ts';
import { diagnosePostgres, diagnoseReplica } from './postgres.ts';
import { diagnoseProcesses, type WorkParts } from './processes.ts';

/** What the checks need of an app. */
export interface DiagnosedApp extends DeclaredSchema {
  platform: Platform;
  files: Pick<Files, 'check' | 'storageName'>;
  parts: WorkParts & Pick<FeatureParts, 'diagnoses'>;
}

/** What `diagnose` compares the database with. */
export interface DiagnoseOptions {
  /** The folder of the project's migrations. Default: `migrations` in the working directory. */
  folder?: string;
}

const DEADLINE_MS = 5000;

function diagnoseEnvironment({ env }: Platform): Finding[] {
  const findings = [ok(`The environment is valid (NODE_ENV=${env.nodeEnv})`)];
  if (env.nodeEnv !== 'production') return findings;
  if (env.appUrl?.startsWith('http:'))
    findings.push(warning('APP_URL starts with http:', 'serve the app over HTTPS: tokens are sent in every request'));
  if (env.trustProxy === undefined) {
    findings.push(
      warning(
        'TRUST_PROXY is not set',
        'behind a proxy or load balancer, set it: otherwise all clients share one rate limit (docs/operate/rate-limits.md)',
      ),
    );
  }
  if (env.smtp === undefined)
    findings.push(
      warning(
        'SMTP_URL is not set',
        'set SMTP_URL and MAIL_FROM: until then, e-mails such as password resets are not sent',
      ),
    );
  if (env.corsOrigins.includes('*'))
    findings.push(warning('CORS_ORIGINS allows every origin', 'list the origins of your front ends'));
  return findings;
}

function describeEvictionPolicy(policy: string | undefined): Finding {
  if (policy === undefined) {
    return warning(
      'The user of REDIS_URL may not ask for the eviction policy of Redis',
      'allow the user to run INFO, or check on the server that maxmemory-policy is noeviction',
    );
  }
  if (policy === 'noeviction') return ok('Redis keeps all keys when its memory is full (maxmemory-policy noeviction)');
  return warning(`Redis ${describeEviction(policy)}`, 'set maxmemory-policy noeviction (docs/operate/redis.md)');
}

/** Describes why Redis is not usable. */
export function describeRedisFailure(error: unknown, { redis, env }: Pick<Platform, 'redis' | 'env'>): Finding {
  return failure(`Redis at ${redis.address} ${describeRedisProblem(error, env.redisPrefix)}`, suggestRedisFix(error));
}

async function diagnoseRedis({ redis, env }: Platform): Promise<Finding[]> {
  const address = `Redis at ${redis.address}`;
  try {
    const { versions, evictionPolicy } = await withDeadline(connectAndCheckRedis({ redis, env }), DEADLINE_MS);
    const asked = Date.now();
    const [seconds = 0, micros = 0] = (await redis.commands.time()).map(Number);
    return [
      ok(`${address} accepts writes${versions.length > 0 ? ` (${versions.join(', ')})` : ''}`),
      compareClocks('Redis', seconds * 1000 + micros / 1000, asked, Date.now()),
      describeEvictionPolicy(evictionPolicy),
    ];
  } catch (error) {
    return [describeRedisFailure(error, { redis, env })];
  }
}

/** Checks the storage of files, if the app has file fields. */
async function diagnoseStorage({ check, storageName }: DiagnosedApp['files']): Promise<Finding[]> {
  if (storageName === undefined) return [];
  try {
    await withDeadline(check(), DEADLINE_MS);
    return [ok(`The file storage (${storageName}) can be used`)];
  } catch (error) {
    return [failure(`The file storage (${storageName}) cannot be used: ${(error as Error).message}`)];
  }
}

/** Runs the checks of features. A check that throws has found nothing: the checks of the servers say why. */
export async function diagnoseFeatures({ diagnoses = [] }: DiagnosedApp['parts']): Promise<Finding[]> {
  const found = await Promise.all(diagnoses.map((check) => check().catch((): Finding[] => [])));
  return found.flat();
}

/**
 * Checks the environment of an app, its servers, the migrations, the tables, the clocks, whether processes work on its queues, and what its
 * features check. Changes nothing.
 */
export async function diagnose(
  { platform, files, parts, ...schema }: DiagnosedApp,
  { folder = join(process.cwd(), 'migrations') }: DiagnoseOptions,
): Promise<Finding[]> {
  const redisChecked = diagnoseRedis(platform);
  const checks = await Promise.all([
    diagnosePostgres(platform, schema, folder, redisChecked),
    diagnoseReplica(platform),
    redisChecked,
    diagnoseStorage(files),
  ]);
  const findings = [...diagnoseEnvironment(platform), ...checks.flat()];
  // Only now, because the check of Redis connects to it.
  findings.push(...(await diagnoseProcesses(platform, parts)));
  const isInstalled = checks[0].every(({ level }) => level !== 'error');
  return isInstalled ? [...findings, ...(await diagnoseFeatures(parts))] : findings;
}
