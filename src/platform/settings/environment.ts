import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { MIN_CONNECTIONS } from '../data/postgres/lanes.ts';
import type { PoolerSetting } from '../data/postgres/session.ts';
import {
  findRedisErrors,
  hasDecodableCredentials,
  type RedisSettings,
  redisSchemas,
  toRedisSettings,
} from '../data/redis/environment.ts';
import { createReplicaSchemas, type ReplicaSettings, toReplicaSettings } from '../data/replica/environment.ts';
import { StartupError } from '../helpers/config-errors.ts';
import { isEmailAddress } from '../helpers/email-address.ts';
import {
  isProviderRegistered,
  readTracingVariables,
  type TracingVariables,
} from '../observability/tracing-environment.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const onOffSchema = (name: string) => z.enum(['on', 'off'], { error: `${name} must be on or off` }).default('on');

const serverUrlSchema = (name: string, protocols: string[], example: string) =>
  z.string({ error: `${name} is missing: it should look like ${example}` }).refine(
    (text) => {
      const url = URL.parse(text);
      return url !== null && protocols.includes(url.protocol) && hasDecodableCredentials(url);
    },
    { error: `${name} is malformed: it should look like ${example}` },
  );

const postgresUrlSchema = (name: string) =>
  serverUrlSchema(name, ['postgres:', 'postgresql:'], 'postgres://user:password@host:5432/name');

const poolerSchema = (name: string) =>
  z
    .enum(['auto', 'none', 'session', 'transaction'], { error: `${name} must be auto, none, session or transaction` })
    .default('auto');

const KEYS_MALFORMED =
  'SVC_ENCRYPTION_KEYS is malformed: it should be the base64 of 32 bytes, or several of these separated by commas, newest first';

function protocolOf(text: string): string {
  return URL.canParse(text) ? new URL(text).protocol : '';
}

function isEncryptionKey(text: string): boolean {
  const bytes = Buffer.from(text, 'base64');
  // Node's decoder skips invalid characters, so re-encode to check that the text was exact.
  return bytes.length === 32 && bytes.toString('base64') === text;
}

/** Whether a text is an origin as browsers send it in `Origin` (`https://app.example.com`), or `*` for all. */
function isCorsOrigin(text: string): boolean {
  // `URL` accepts a host with a star, but no browser ever sends one.
  return text === '*' || (URL.canParse(text) && new URL(text).origin === text && !text.includes('*'));
}

/** Whether a text names a proxy in a form that Express accepts: an address, a subnet, or a named group of subnets. */
function isTrustedProxyEntry(text: string): boolean {
  // The address parser reads `1.5` as 1.0.0.5.
  const isAddress = isIP(text.split('/', 1)[0]!) !== 0;
  const names = ['loopback', 'linklocal', 'uniquelocal'];
  return names.includes(text) || (isAddress && (ipaddr.isValid(text) || ipaddr.isValidCIDR(text)));
}

const numberSchema = (name: string, max: number, min = 0) => {
  const error = `${name} must be a number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, { error })
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error });
};

const portSchema = (name: string) => numberSchema(name, 65_535);

/** Maximum of DRAIN_DELAY_MS: five minutes, the longest time that platforms give a stopping process. */
const MAX_DRAIN_DELAY_MS = 300_000;

/** Load balancers usually stop sending requests to a stopping process within a few seconds. */
const PRODUCTION_DRAIN_DELAY_MS = 5000;

/** Whether a text is a sender of e-mail: `Belfry <no-reply@example.com>`, or only the address. */
function isMailSender(text: string): boolean {
  const address = /^[^<>@]*<([^<>]+)>$/.exec(text)?.[1] ?? text;
  return isEmailAddress(address) && !/\p{Cc}/u.test(text);
}

const splitCommaList = (text: string | undefined) =>
  (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

export const environmentSchema = z.object({
  NODE_ENV: z
    .enum(['production', 'development', 'test'], { error: 'NODE_ENV must be production, development or test' })
    .default('production'),
  APP_URL: z
    .url({ protocol: /^https?$/, error: 'APP_URL is malformed: it should look like https://api.example.com' })
    .optional(),
  PORT: portSchema('PORT').default(5001),
  DRAIN_DELAY_MS: numberSchema('DRAIN_DELAY_MS', MAX_DRAIN_DELAY_MS).optional(),
  HEALTH_PORT: portSchema('HEALTH_PORT').optional(),
  HOST: z
    .string()
    .refine((text) => isIP(text) !== 0 || text === 'localhost', {
      error: 'HOST must be an IP address of this machine, such as 127.0.0.1, 0.0.0.0 or ::, or localhost',
    })
    .optional(),
  LOG_LEVEL: z.enum(LOG_LEVELS, { error: `LOG_LEVEL must be one of ${LOG_LEVELS.join(', ')}` }).optional(),
  LOG_PROCESS: z
    .string()
    .regex(/^[A-Za-z0-9_.:-]{1,64}$/, { error: 'LOG_PROCESS must be 1 to 64 letters, digits or _ . : -' })
    .optional(),
  CORS_ORIGINS: z
    .string()
    .default('')
    .transform(splitCommaList)
    .refine((origins) => origins.every(isCorsOrigin), {
      error:
        'CORS_ORIGINS is malformed: list complete origins separated by commas, such as https://app.example.com, or use * to allow all',
    }),
  TRUST_PROXY: z
    .string()
    .refine((text) => /^(true|false|\d{1,2})$/.test(text) || splitCommaList(text).every(isTrustedProxyEntry), {
      error: 'TRUST_PROXY must be true, false, a number of proxies, or a comma-separated list of addresses or subnets',
    })
    .optional(),
  DATABASE_URL: postgresUrlSchema('DATABASE_URL'),
  DATABASE_DIRECT_URL: postgresUrlSchema('DATABASE_DIRECT_URL').optional(),
  DATABASE_POOLER: poolerSchema('DATABASE_POOLER'),
  POOL_MAX: numberSchema('POOL_MAX', 1000, MIN_CONNECTIONS).optional(),
  ...createReplicaSchemas({ url: postgresUrlSchema, pooler: poolerSchema, number: numberSchema }),
  ...redisSchemas,
  SVC_ENCRYPTION_KEYS: z
    .string()
    .optional()
    .transform(splitCommaList)
    .refine((keys) => keys.every(isEncryptionKey), { error: KEYS_MALFORMED })
    .refine((keys) => new Set(keys).size === keys.length, { error: 'SVC_ENCRYPTION_KEYS contains the same key twice' }),
  SMTP_URL: z
    .string()
    .refine((text) => /^smtps?:$/.test(protocolOf(text)) && new URL(text).hostname !== '', {
      error: 'SMTP_URL is malformed: it should look like smtp://user:password@host:587',
    })
    .optional(),
  MAIL_FROM: z
    .string()
    .refine(isMailSender, { error: 'MAIL_FROM is malformed: it should look like Belfry <no-reply@example.com>' })
    .optional(),
  METRICS_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]+$/, { error: 'METRICS_TOKEN must consist of visible ASCII characters, without spaces' })
    .optional(),
  METRICS_PORT: portSchema('METRICS_PORT').optional(),
  LOOPBACK_RATE_LIMITS: onOffSchema('LOOPBACK_RATE_LIMITS'),
  RELAY: onOffSchema('RELAY'),
  WEBHOOKS_WORKER: onOffSchema('WEBHOOKS_WORKER'),
  PUSH_WORKER: onOffSchema('PUSH_WORKER'),
  JOB_WORKER: onOffSchema('JOB_WORKER'),
  APP_VERSION: z
    .string()
    .regex(/^[\x21-\x7e]{1,64}$/, { error: 'APP_VERSION must consist of 1 to 64 visible ASCII characters' })
    .optional(),
});

/** Variables in which platforms name the commit that they have deployed. */
const COMMIT_VARIABLES = ['RENDER_GIT_COMMIT', 'HEROKU_BUILD_COMMIT', 'HEROKU_SLUG_COMMIT', 'RAILWAY_GIT_COMMIT_SHA'];

function findCommit(variables: Record<string, string | undefined>): string | undefined {
  return COMMIT_VARIABLES.map((name) => variables[name]).find((text) => /^[0-9a-f]{7,64}$/i.test(text ?? ''));
}

const PUSH_VARIABLE_NAMES = [
  'FCM_SERVICE_ACCOUNT',
  ...['APNS_KEY', 'APNS_KEY_ID', 'APNS_TEAM_ID', 'APNS_CERT', 'APNS_CERT_KEY', 'APNS_TOPIC', 'APNS_PRODUCTION'],
  ...['VAPID_PUBLIC_KEY', 'VAPID_PRIVATE_KEY', 'VAPID_SUBJECT'],
];
const PUSH_VARIABLE_PREFIX = /^(FCM|APNS|VAPID)_/;

/** Returns an error for each unknown push variable: a misspelled name would disable a provider, or send to the wrong one. */
function findUnknownPushVariableErrors(variables: Record<string, string | undefined>): string[] {
  const names = Object.keys(variables).filter(
    (name) => PUSH_VARIABLE_PREFIX.test(name) && !PUSH_VARIABLE_NAMES.includes(name),
  );
  return names.map((name) => `${name} is unknown. The push variables are: ${PUSH_VARIABLE_NAMES.join(', ')}`);
}

function pickPushVariables(variables: Record<string, string | undefined>): Record<string, string> {
  const definedVariables = PUSH_VARIABLE_NAMES.flatMap((name) =>
    variables[name] === undefined ? [] : [[name, variables[name]]],
  );
  return Object.fromEntries(definedVariables);
}

/** Returns errors for variables that production requires, although development has defaults for them, and those it forbids. */
function findProductionErrors(variables: Record<string, string | undefined>): string[] {
  if ((variables.NODE_ENV ?? 'production') !== 'production') return [];
  const errors: string[] = [];
  if (variables.APP_URL === undefined) {
    errors.push('APP_URL is missing: production requires it, for example https://api.example.com');
  }
  if (splitCommaList(variables.SVC_ENCRYPTION_KEYS).length === 0) {
    errors.push('SVC_ENCRYPTION_KEYS is missing: production requires it; generate one with: npx belfry keys generate');
  }
  if (variables.LOOPBACK_RATE_LIMITS === 'off') {
    errors.push(
      'LOOPBACK_RATE_LIMITS must not be off in production: behind a proxy on the same machine, no client would be limited',
    );
  }
  return errors;
}

/** Returns an error if SMTP_URL is set without MAIL_FROM, because sending e-mail requires a sender address. */
function findMailErrors({ SMTP_URL, MAIL_FROM }: Record<string, string | undefined>): string[] {
  if (SMTP_URL === undefined || MAIL_FROM !== undefined) return [];
  return ['MAIL_FROM is missing: SMTP_URL requires it, for example Belfry <no-reply@example.com>'];
}

/** The validated environment, with defaults filled in. */
export interface Environment {
  nodeEnv: 'production' | 'development' | 'test';
  appUrl: string | undefined;
  port: number;
  /** The address that `web` listens on; undefined: all addresses of this machine. */
  host: string | undefined;
  /** ms that a stopping `web` process goes on serving, so that load balancers can stop sending requests to it. */
  drainDelayMs: number;
  /** The port on which each process serves its health checks; undefined: only `web` serves them, on its own port. */
  healthPort: number | undefined;
  logLevel: string;
  /** The name of this process in log lines; undefined: the name is made of the roles that the process starts. */
  logProcess: string | undefined;
  corsOrigins: string[];
  trustProxy: string | undefined;
  databaseUrl: string;
  /** An address of the same database without a pooler, for migrations; undefined: `databaseUrl`. */
  databaseDirectUrl: string | undefined;
  databasePooler: PoolerSetting;
  /** The maximum number of Postgres connections of this process; undefined: its share of those that the server allows. */
  poolMax: number | undefined;
  /** The read replica for lists and exports; undefined: there is none. */
  replica: ReplicaSettings | undefined;
  redis: RedisSettings;
  redisPrefix: string;
  /** Base64 of 32 bytes each, newest first. Never empty. */
  encryptionKeys: string[];
  /** The mail server and the sender of all e-mail; undefined: no e-mail is sent. */
  smtp: { url: string; from: string } | undefined;
  /** Credentials of push providers by variable name, unparsed; the transports read and check them when they are created. */
  push: Readonly<Record<string, string>>;
  /** The token that a client must send to read the metrics; undefined: the web process serves no metrics. */
  metricsToken: string | undefined;
  /** The port on which each process serves its metrics; undefined: none. */
  metricsPort: number | undefined;
  /** How traces are exported. */
  tracing: TracingVariables;
  /** Whether rate limits apply to clients on this machine. Always true in production. */
  loopbackRateLimits: boolean;
  relay: boolean;
  webhooksWorker: boolean;
  pushWorker: boolean;
  jobWorker: boolean;
  /** The version of the app: a release or a commit; undefined if the environment does not name it. */
  appVersion: string | undefined;
}

/** The key of development and tests without a configured encryption key; production refuses to start without one. */
export const DEVELOPMENT_KEY = Buffer.from('belfry-development-key-not-secret').subarray(0, 32).toString('base64');

/**
 * Reads the environment once.
 *
 * @param variables name to text, as in `process.env`; an empty text counts as missing
 * @throws StartupError naming every missing or malformed variable at once
 */
export function readEnvironment(variables: Record<string, string | undefined>): Environment {
  const definedVariables = Object.fromEntries(
    Object.entries(variables).filter(([, text]) => text !== undefined && text !== ''),
  );
  const parsed = environmentSchema.safeParse(definedVariables);
  const { tracing, errors: tracingErrors } = readTracingVariables(definedVariables, isProviderRegistered());
  const errors = [
    ...(parsed.error?.issues ?? []).map((issue) => issue.message),
    ...findProductionErrors(definedVariables),
    ...findMailErrors(definedVariables),
    ...findRedisErrors(definedVariables),
    ...findUnknownPushVariableErrors(definedVariables),
    ...tracingErrors,
  ];
  if (!parsed.success || errors.length > 0) {
    throw new StartupError('Environment variables are missing or invalid:', [...new Set(errors)]);
  }
  const env = parsed.data;
  return {
    nodeEnv: env.NODE_ENV,
    appUrl: env.APP_URL,
    port: env.PORT,
    host: env.HOST,
    drainDelayMs: env.DRAIN_DELAY_MS ?? (env.NODE_ENV === 'production' ? PRODUCTION_DRAIN_DELAY_MS : 0),
    healthPort: env.HEALTH_PORT,
    logLevel: env.LOG_LEVEL ?? (env.NODE_ENV === 'test' ? 'silent' : 'info'),
    logProcess: env.LOG_PROCESS,
    corsOrigins: env.CORS_ORIGINS,
    trustProxy: env.TRUST_PROXY,
    databaseUrl: env.DATABASE_URL,
    databaseDirectUrl: env.DATABASE_DIRECT_URL,
    databasePooler: env.DATABASE_POOLER,
    poolMax: env.POOL_MAX,
    replica: toReplicaSettings(env),
    redis: toRedisSettings(env),
    redisPrefix: env.REDIS_PREFIX,
    encryptionKeys: env.SVC_ENCRYPTION_KEYS.length > 0 ? env.SVC_ENCRYPTION_KEYS : [DEVELOPMENT_KEY],
    smtp: env.SMTP_URL === undefined ? undefined : { url: env.SMTP_URL, from: env.MAIL_FROM! },
    push: pickPushVariables(definedVariables),
    metricsToken: env.METRICS_TOKEN,
    metricsPort: env.METRICS_PORT,
    tracing,
    loopbackRateLimits: env.LOOPBACK_RATE_LIMITS === 'on',
    relay: env.RELAY === 'on',
    webhooksWorker: env.WEBHOOKS_WORKER === 'on',
    pushWorker: env.PUSH_WORKER === 'on',
    jobWorker: env.JOB_WORKER === 'on',
    appVersion: env.APP_VERSION ?? findCommit(definedVariables),
  };
}

/** Returns `APP_URL`, or the address on this machine if it is not set, without a slash at its end. Links begin with it. */
export function getAppUrl({ appUrl, port }: Pick<Environment, 'appUrl' | 'port'>): string {
  return (appUrl ?? `http://localhost:${port}`).replace(/\/+$/, '');
}

/** Returns the host of `APP_URL`, for texts; undefined if it is not set. */
export function appHostOf({ appUrl }: Pick<Environment, 'appUrl'>): string | undefined {
  return appUrl === undefined ? undefined : new URL(appUrl).host;
}
