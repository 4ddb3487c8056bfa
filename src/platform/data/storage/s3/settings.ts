import { z } from 'zod';
import { ConfigErrors, StartupError } from '../../../helpers/config-errors.ts';
import { parseSettings, reportSettingErrors } from '../../../helpers/parse-settings.ts';
import { StorageError } from '../storage.ts';

/** Maximum of `timeoutMs`: ten minutes. A larger number is a typo. */
const MAX_TIMEOUT_MS = 600_000;

const credentialText = z.string({ error: 'must be a text' }).min(1, { error: 'must not be empty' });

const settingsSchema = z.strictObject({
  bucket: z.string({ error: 'must be the name of a bucket' }).regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, {
    error: 'must be the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens',
  }),
  region: z
    .string({ error: 'must be a region, such as eu-central-1, or auto for R2' })
    .regex(/^[a-z0-9-]{1,63}$/, { error: 'must be a region, such as eu-central-1, or auto for R2' }),
  endpoint: z
    .url({ protocol: /^https?$/, error: 'must look like https://s3.example.com', abort: true })
    .refine(
      (text) => {
        const url = URL.parse(text);
        return url !== null && url.pathname === '/' && `${url.search}${url.hash}${url.username}` === '';
      },
      { error: 'must look like https://s3.example.com, without a path, query or password' },
    )
    .optional(),
  forcePathStyle: z.boolean({ error: 'must be true or false' }).optional(),
  prefix: z
    .string({ error: 'must be a text' })
    .regex(/^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*$/, { error: 'must look like files/ and end with a slash' })
    .max(200, { error: 'must have at most 200 characters' })
    .default(''),
  credentials: z
    .union(
      [
        z.strictObject({
          accessKeyId: credentialText,
          secretAccessKey: credentialText,
          sessionToken: credentialText.optional(),
        }),
        z.custom<() => S3Credentials | Promise<S3Credentials>>((value) => typeof value === 'function'),
      ],
      { error: 'must be { accessKeyId, secretAccessKey }, or a function that returns these' },
    )
    .optional(),
  conditionalUploads: z.boolean({ error: 'must be true or false' }).default(true),
  timeoutMs: z
    .number({ error: 'must be a number of milliseconds' })
    .int({ error: 'must be a whole number' })
    .min(100, { error: 'must be at least 100' })
    .max(MAX_TIMEOUT_MS, { error: `must be at most ${MAX_TIMEOUT_MS}` })
    .default(30_000),
});

/** An access key of an S3-compatible storage. Never log it. */
export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  /** The token of temporary credentials. */
  sessionToken?: string | undefined;
}

/** Where an S3-compatible storage is, and how to use it. */
export interface S3Options {
  /** The bucket. It must exist. */
  bucket: string;
  /** The region of the bucket, such as `eu-central-1`; `auto` for R2. */
  region: string;
  /** The address of the storage. Default: Amazon S3 in `region`. */
  endpoint?: string;
  /** Whether the bucket is in the path of URLs instead of the host. Default: true with `endpoint`, false for Amazon S3. */
  forcePathStyle?: boolean;
  /** The start of all keys in the bucket, such as `production/`. Default: none. */
  prefix?: string;
  /**
   * The access key, or a function that returns the current one and is called for each request. Default: the environment variables
   * `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
   */
  credentials?: S3Credentials | (() => S3Credentials | Promise<S3Credentials>);
  /**
   * Whether a URL for a direct upload works once: it requires `If-None-Match: *`, so that a file cannot be replaced after its content was
   * checked. Set it to false only for a storage that does not support conditional writes. Default: true.
   */
  conditionalUploads?: boolean;
  /** ms without progress after which a request is aborted. Default: 30,000. */
  timeoutMs?: number;
}

/** The validated settings of a storage. */
export interface S3Settings {
  /** The address of the bucket, ending with a slash. */
  bucketUrl: URL;
  bucket: string;
  region: string;
  prefix: string;
  conditionalUploads: boolean;
  timeoutMs: number;
  /** @throws StorageError `denied` if there are no credentials */
  getCredentials(): Promise<S3Credentials>;
}

/** Returns the address of a bucket. Over TLS, a bucket with a dot cannot be part of the host, because the certificate would not match. */
function toBucketUrl({
  bucket,
  region,
  endpoint,
  forcePathStyle,
}: Pick<S3Options, 'bucket' | 'region' | 'endpoint' | 'forcePathStyle'>): URL {
  const url = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
  if (forcePathStyle ?? (endpoint !== undefined || bucket.includes('.'))) url.pathname = `/${bucket}/`;
  else url.hostname = `${bucket}.${url.hostname}`;
  return url;
}

/**
 * Reads the credentials for S3 from the variables that all tools for S3 use.
 *
 * @param variables name to text, as in `process.env`; an empty text counts as missing
 * @returns undefined if `AWS_ACCESS_KEY_ID` or `AWS_SECRET_ACCESS_KEY` is missing
 */
function readS3Credentials(variables: Record<string, string | undefined>): S3Credentials | undefined {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = variables;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) return undefined;
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    sessionToken: AWS_SESSION_TOKEN || undefined,
  };
}

/**
 * Validates the options and fills in the defaults.
 *
 * @param variables the environment, read for credentials when the first request is signed
 * @throws StartupError naming every option that is unknown or malformed
 */
export function readS3Settings(options: S3Options, variables: Record<string, string | undefined>): S3Settings {
  const parsed = parseSettings(settingsSchema, options);
  if (!parsed.success) {
    const errors = new ConfigErrors();
    reportSettingErrors('s3', settingsSchema, parsed.error, errors);
    throw new StartupError('The file storage has errors:', errors.lines);
  }
  const { credentials, bucket, region, prefix, conditionalUploads, timeoutMs } = parsed.data;
  return {
    bucketUrl: toBucketUrl(options),
    bucket,
    region,
    prefix,
    conditionalUploads,
    timeoutMs,
    async getCredentials() {
      const current = typeof credentials === 'function' ? await credentials() : credentials;
      const found = current ?? readS3Credentials(variables);
      if (found !== undefined) return found;
      const text =
        'There are no credentials for S3. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or s3.credentials';
      throw new StorageError('denied', text);
    },
  };
}
