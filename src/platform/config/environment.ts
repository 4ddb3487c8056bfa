import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const onOff = (name: string) => z.enum(['on', 'off'], { error: `${name} must be on or off` }).default('on');

const serverUrl = (name: string, protocols: string[], example: string) =>
  z
    .string({ error: `${name} is missing: it should look like ${example}` })
    .refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
      error: `${name} is malformed: it should look like ${example}`,
    });

const KEYS_MALFORMED =
  'SVC_ENCRYPTION_KEYS is malformed: it should be base64 of 32 bytes, several separated by commas, newest first';

function protocolOf(text: string): string {
  return URL.canParse(text) ? new URL(text).protocol : '';
}

function isKey(text: string): boolean {
  const bytes = Buffer.from(text, 'base64');
  // Node's decoder skips invalid characters, so re-encode to check that the text was exact.
  return bytes.length === 32 && bytes.toString('base64') === text;
}

/** `https://app.example.com`: what a browser sends as `Origin`, or `*` for all. */
function isOrigin(text: string): boolean {
  // `URL` accepts a host with a star, but no browser ever sends one.
  return text === '*' || (URL.canParse(text) && new URL(text).origin === text && !text.includes('*'));
}

/** A proxy in a form that Express accepts: an address, a subnet, or a named group of subnets. */
function isProxy(text: string): boolean {
  // The address parser reads `1.5` as 1.0.0.5.
  const isAddress = isIP(text.split('/', 1)[0]!) !== 0;
  const names = ['loopback', 'linklocal', 'uniquelocal'];
  return names.includes(text) || (isAddress && (ipaddr.isValid(text) || ipaddr.isValidCIDR(text)));
}

const PORT_MALFORMED = 'PORT must be a number from 0 to 65535';
const METRICS_PORT_MALFORMED = 'METRICS_PORT must be a number from 0 to 65535';

/** `Belfry <no-reply@example.com>`, or only the address. */
function isSender(text: string): boolean {
  const address = /^[^<>@]*<([^<>]+)>$/.exec(text)?.[1] ?? text;
  return z.email().safeParse(address).success && !/\p{Cc}/u.test(text);
}

const commaList = (text: string | undefined) =>
  (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

const schema = z.object({
  NODE_ENV: z
    .enum(['production', 'development', 'test'], { error: 'NODE_ENV must be production, development or test' })
    .default('production'),
  APP_URL: z
    .url({ protocol: /^https?$/, error: 'APP_URL is malformed: it should look like https://api.example.com' })
    .optional(),
  PORT: z
    .string()
    .regex(/^\d{1,5}$/, { error: PORT_MALFORMED })
    .transform(Number)
    .refine((port) => port <= 65_535, { error: PORT_MALFORMED })
    .default(5001),
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
    .transform(commaList)
    .refine((origins) => origins.every(isOrigin), {
      error:
        'CORS_ORIGINS is malformed: it should look like https://app.example.com,https://admin.example.com, with complete origins, or be * to allow all',
    }),
  TRUST_PROXY: z
    .string()
    .refine((text) => /^(true|false|\d{1,2})$/.test(text) || commaList(text).every(isProxy), {
      error: 'TRUST_PROXY must be true, false, a whole number of proxies, or a comma list of addresses and subnets',
    })
    .optional(),
  DATABASE_URL: serverUrl('DATABASE_URL', ['postgres:', 'postgresql:'], 'postgres://user:password@host:5432/name'),
  REDIS_URL: serverUrl('REDIS_URL', ['redis:', 'rediss:'], 'redis://host:6379'),
  REDIS_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, { error: 'REDIS_PREFIX must be 1 to 64 letters, digits, - or _' })
    .default('belfry'),
  SVC_ENCRYPTION_KEYS: z
    .string()
    .optional()
    .transform(commaList)
    .refine((keys) => keys.every(isKey), { error: KEYS_MALFORMED })
    .refine((keys) => new Set(keys).size === keys.length, { error: 'SVC_ENCRYPTION_KEYS contains a key twice' }),
  SMTP_URL: z
    .string()
    .refine((text) => /^smtps?:$/.test(protocolOf(text)) && new URL(text).hostname !== '', {
      error: 'SMTP_URL is malformed: it should look like smtp://user:password@host:587',
    })
    .optional(),
  MAIL_FROM: z
    .string()
    .refine(isSender, { error: 'MAIL_FROM is malformed: it should look like Belfry <no-reply@example.com>' })
    .optional(),
  METRICS_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]+$/, { error: 'METRICS_TOKEN must be visible ASCII characters without spaces' })
    .optional(),
  METRICS_PORT: z
    .string()
    .regex(/^\d{1,5}$/, { error: METRICS_PORT_MALFORMED })
    .transform(Number)
    .refine((port) => port <= 65_535, { error: METRICS_PORT_MALFORMED })
    .optional(),
  LOOPBACK_RATE_LIMITS: onOff('LOOPBACK_RATE_LIMITS'),
  RELAY: onOff('RELAY'),
  WEBHOOKS_WORKER: onOff('WEBHOOKS_WORKER'),
  PUSH_WORKER: onOff('PUSH_WORKER'),
});

const PUSH_NAMES = [
  'FCM_SERVICE_ACCOUNT',
  ...['APNS_KEY', 'APNS_KEY_ID', 'APNS_TEAM_ID', 'APNS_CERT', 'APNS_CERT_KEY', 'APNS_TOPIC', 'APNS_PRODUCTION'],
  ...['VAPID_PUBLIC_KEY', 'VAPID_PRIVATE_KEY', 'VAPID_SUBJECT'],
];
const LIKE_PUSH_NAME = /^(FCM|APNS|VAPID)_/;

/** Rejects misspelled names: a typo would disable a provider or send to the wrong one. */
function findUnknownPushNames(variables: Record<string, string | undefined>): string[] {
  const names = Object.keys(variables).filter((name) => LIKE_PUSH_NAME.test(name) && !PUSH_NAMES.includes(name));
  return names.map((name) => `${name} is unknown. The push variables are: ${PUSH_NAMES.join(', ')}`);
}

function pushVariables(variables: Record<string, string | undefined>): Record<string, string> {
  const variablesSet = PUSH_NAMES.flatMap((name) => (variables[name] === undefined ? [] : [[name, variables[name]]]));
  return Object.fromEntries(variablesSet);
}

/** Checks the variables that production requires, although development has defaults for them, and those that it forbids. */
function findProductionErrors(variables: Record<string, string | undefined>): string[] {
  if ((variables.NODE_ENV ?? 'production') !== 'production') return [];
  const errors: string[] = [];
  if (variables.APP_URL === undefined) {
    errors.push('APP_URL is missing: production requires it, for example https://api.example.com');
  }
  if (commaList(variables.SVC_ENCRYPTION_KEYS).length === 0) {
    errors.push('SVC_ENCRYPTION_KEYS is missing: production requires it; generate one with: openssl rand -base64 32');
  }
  if (variables.LOOPBACK_RATE_LIMITS === 'off') {
    errors.push(
      'LOOPBACK_RATE_LIMITS must not be off in production: behind a proxy on the same machine, no client would be limited',
    );
  }
  return errors;
}

/** Sending e-mail requires a sender address. */
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
  logLevel: string;
  /** The name of this process in log lines; undefined: its roles, known once it starts. */
  logProcess: string | undefined;
  corsOrigins: string[];
  trustProxy: string | undefined;
  databaseUrl: string;
  redisUrl: string;
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
  /** Whether rate limits apply to clients on this machine. Always true in production. */
  loopbackRateLimits: boolean;
  relay: boolean;
  webhooksWorker: boolean;
  pushWorker: boolean;
}

/** Thrown if the environment or the declarations are invalid: `errors` lists every error found, one line each. */
export class StartupError extends Error {
  readonly errors: readonly string[];

  constructor(summary: string, errors: readonly string[]) {
    super(`${summary}\n${errors.map((error) => `  - ${error}`).join('\n')}`);
    this.name = 'StartupError';
    this.errors = errors;
  }
}

// Development and tests work without a configured key; production refuses to start without one.
const DEVELOPMENT_KEY = Buffer.from('belfry-development-key-not-secret').subarray(0, 32).toString('base64');

/**
 * Reads the environment once.
 *
 * @param variables name to text, as in `process.env`; an empty text counts as missing
 * @throws StartupError naming every missing or malformed variable at once
 */
export function readEnvironment(variables: Record<string, string | undefined>): Environment {
  const variablesSet = Object.fromEntries(
    Object.entries(variables).filter(([, text]) => text !== undefined && text !== ''),
  );
  const parsed = schema.safeParse(variablesSet);
  const errors = [
    ...(parsed.error?.issues ?? []).map((issue) => issue.message),
    ...findProductionErrors(variablesSet),
    ...findMailErrors(variablesSet),
    ...findUnknownPushNames(variablesSet),
  ];
  if (!parsed.success || errors.length > 0) {
    throw new StartupError('The environment is missing variables or has invalid ones:', [...new Set(errors)]);
  }
  const env = parsed.data;
  return {
    nodeEnv: env.NODE_ENV,
    appUrl: env.APP_URL,
    port: env.PORT,
    host: env.HOST,
    logLevel: env.LOG_LEVEL ?? (env.NODE_ENV === 'test' ? 'silent' : 'info'),
    logProcess: env.LOG_PROCESS,
    corsOrigins: env.CORS_ORIGINS,
    trustProxy: env.TRUST_PROXY,
    databaseUrl: env.DATABASE_URL,
    redisUrl: env.REDIS_URL,
    redisPrefix: env.REDIS_PREFIX,
    encryptionKeys: env.SVC_ENCRYPTION_KEYS.length > 0 ? env.SVC_ENCRYPTION_KEYS : [DEVELOPMENT_KEY],
    smtp: env.SMTP_URL === undefined ? undefined : { url: env.SMTP_URL, from: env.MAIL_FROM! },
    push: pushVariables(variablesSet),
    metricsToken: env.METRICS_TOKEN,
    metricsPort: env.METRICS_PORT,
    loopbackRateLimits: env.LOOPBACK_RATE_LIMITS === 'on',
    relay: env.RELAY === 'on',
    webhooksWorker: env.WEBHOOKS_WORKER === 'on',
    pushWorker: env.PUSH_WORKER === 'on',
  };
}
