import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** The address of a Sentinel. */
export interface SentinelAddress {
  host: string;
  port: number;
}

/** How to reach Redis. */
export interface RedisSettings {
  /** `redis://…` or `rediss://…`. Several: nodes of one Redis Cluster. The user, password and database of the first URL count. */
  urls: readonly string[];
  cluster?: boolean;
  /** If set, the Sentinels name the server to connect to, and the host of the URL is not used. */
  sentinels?: {
    addresses: readonly SentinelAddress[];
    /** The name under which the Sentinels know the servers. */
    master: string;
    password: string | undefined;
  };
  /** The certificates (PEM) that a `rediss://` server is checked against; undefined: those that Node trusts. */
  ca?: string | undefined;
}

const URL_EXAMPLE = 'redis://host:6379';

/** Whether the user and password of a URL are valid percent-encoding: a `%` in a password must be written as `%25`. */
export function hasDecodableCredentials({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

function isRedisUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !hasDecodableCredentials(url)) return false;
  return /^rediss?:$/.test(url.protocol) && url.hostname !== '' && /^\/?\d*$/.test(url.pathname);
}

/** Splits a list of URLs. A password may contain a comma, so only a comma before the next URL separates. */
const splitUrls = (text: string) => text.split(/,(?=\s*rediss?:\/\/)/).map((url) => url.trim());

/** Parses `host`, `host:port` or `[IPv6]:port`; undefined if the text is none of these. */
function parseSentinel(text: string): SentinelAddress | undefined {
  const [, ipv6, name, port = '26379'] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:/@,[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = ipv6 ?? name;
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) };
}

const SENTINELS_MALFORMED =
  'REDIS_SENTINELS is malformed: it should look like sentinel-1:26379,sentinel-2:26379,sentinel-3:26379';
const CA_MALFORMED = 'REDIS_CA must be certificates in PEM format, or the path of a file that contains them';

/** Returns the certificates in a PEM text, or in the file that the text names; undefined if there are none. */
function readCertificates(value: string): string | undefined {
  try {
    const pem = value.includes('-----BEGIN') ? value : readFileSync(value, 'utf8');
    // Throws if the text is not a certificate.
    new X509Certificate(pem);
    return pem;
  } catch {
    return undefined;
  }
}

/** The environment variables of Redis. */
export const redisSchemas = {
  REDIS_URL: z
    .string({ error: `REDIS_URL is missing: it should look like ${URL_EXAMPLE}` })
    .transform(splitUrls)
    .refine((urls) => urls.every(isRedisUrl), { error: `REDIS_URL is malformed: it should look like ${URL_EXAMPLE}` }),
  REDIS_CLUSTER: z.enum(['on', 'off'], { error: 'REDIS_CLUSTER must be on or off' }).default('off'),
  REDIS_SENTINELS: z
    .string()
    .transform((text) => text.split(',').map((part) => parseSentinel(part.trim())))
    .refine((addresses) => addresses.every((address) => address !== undefined), { error: SENTINELS_MALFORMED })
    .optional(),
  REDIS_SENTINEL_MASTER: z.string().default('mymaster'),
  REDIS_SENTINEL_PASSWORD: z.string().optional(),
  REDIS_CA: z
    .string()
    .transform(readCertificates)
    .refine((pem) => pem !== undefined, { error: CA_MALFORMED })
    .optional(),
  REDIS_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, { error: 'REDIS_PREFIX must be 1 to 64 letters, digits, - or _' })
    .default('belfry'),
};

/** Returns errors for variables of Redis that contradict each other. Malformed ones are not reported again. */
export function findRedisErrors(variables: Record<string, string | undefined>): string[] {
  const { REDIS_URL, REDIS_CLUSTER, REDIS_SENTINELS, REDIS_CA } = variables;
  const urls = REDIS_URL === undefined ? [] : splitUrls(REDIS_URL);
  if (!urls.every(isRedisUrl)) return [];
  const parsed = urls.map((url) => new URL(url));
  const isCluster = REDIS_CLUSTER === 'on';
  const errors: string[] = [];
  if (urls.length > 1 && !isCluster)
    errors.push('REDIS_URL lists several servers: set REDIS_CLUSTER=on if they are nodes of one Redis Cluster');
  if (new Set(parsed.map(({ protocol }) => protocol)).size > 1)
    errors.push('REDIS_URL mixes redis:// and rediss://: use one of them for all nodes');
  if (isCluster && REDIS_SENTINELS !== undefined)
    errors.push('REDIS_CLUSTER and REDIS_SENTINELS are both set: Redis is either a cluster or watched by Sentinels');
  if (isCluster && parsed.some(({ pathname }) => !['', '/', '/0'].includes(pathname)))
    errors.push('REDIS_URL names a database number: a Redis Cluster has only database 0');
  if (REDIS_CA !== undefined && parsed.some(({ protocol }) => protocol === 'redis:'))
    errors.push('REDIS_CA requires TLS: REDIS_URL must begin with rediss://');
  return errors;
}

type ParsedRedisVariables = z.infer<z.ZodObject<typeof redisSchemas>>;

/** Combines the parsed variables of Redis. */
export function toRedisSettings(env: ParsedRedisVariables): RedisSettings {
  const addresses = env.REDIS_SENTINELS?.filter((address) => address !== undefined);
  const { REDIS_SENTINEL_MASTER: master, REDIS_SENTINEL_PASSWORD: password } = env;
  return {
    urls: env.REDIS_URL,
    cluster: env.REDIS_CLUSTER === 'on',
    ...(addresses === undefined ? {} : { sentinels: { addresses, master, password } }),
    ca: env.REDIS_CA,
  };
}
