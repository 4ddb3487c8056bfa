import { z } from 'zod';
import { limitRule, RULE_FORM } from '../limits/rule.ts';
import type { MailTemplate, PasswordResetMail } from '../mail/message.ts';
import { canonicalLocale } from '../mail/texts/locale.ts';
import type { FileStorage } from '../storage/storage.ts';
import { ConfigErrors } from './config-errors.ts';
import { StartupError } from './environment.ts';
import { parseSettings, reportSettingErrors } from './parse-settings.ts';

const MAX_HASH_BYTES = 256 * 2 ** 20;

/** Maximum of settings in days: a century. A larger number is a typo, and no date can hold it. */
const MAX_DAYS = 36_500;

/** Maximum of settings in minutes: a year. A larger number is a typo. */
const MAX_MINUTES = 525_600;

const MEBIBYTE = 2 ** 20;

/** Maximum of `http.stallMs`: an hour. A larger number is a typo. */
const MAX_STALL_MS = 3_600_000;

/** Checks passwords against hashes imported from another system. */
export type LegacyPassword = (hash: string, password: string) => boolean | Promise<boolean>;

const functionSchema = <F>() => z.custom<F>((value) => typeof value === 'function', { error: 'must be a function' });

const limitRuleOrFalse = z.union([limitRule, z.literal(false)], { error: `must be false or ${RULE_FORM}` });

const settingsSchema = z.strictObject({
  auth: z
    .strictObject({
      enabled: z.boolean().default(true),
      register: z.boolean().default(true),
      sessionTtlDays: z.number().positive().max(MAX_DAYS).default(30),
      devicesFollowSessions: z.boolean().default(true),
      /** Minutes after a sign-in in which routes with `recentSignIn` accept the session without another sign-in. */
      recentSignInMinutes: z.number().positive().max(MAX_MINUTES).default(60),
      /** The page on which users set a new password; e-mails link to it with `token` in the query. Default `${APP_URL}/reset-password`. */
      resetUrl: z
        .url({ protocol: /^https?$/, error: 'must look like https://app.example.com/reset-password' })
        .optional(),
      resetTokenTtlMinutes: z.number().positive().max(MAX_MINUTES).default(30),
      /** Checks a password against a hash imported from another system; the first login replaces the hash. */
      legacyPassword: functionSchema<LegacyPassword>().optional(),
      /** Locks sign-in for an e-mail address after repeated failures. */
      lockout: z
        .strictObject({
          /** The number of failed sign-ins that locks the address; 0: never lock. */
          maxAttempts: z.number().int().min(0).max(1000).default(5),
          /** The period in which the failed sign-ins are counted. */
          windowMinutes: z.number().positive().max(MAX_MINUTES).default(15),
          lockMinutes: z.number().positive().max(MAX_MINUTES).default(15),
        })
        .prefault({}),
      password: z
        .strictObject({
          logN: z.number().int().min(1).max(20),
          r: z.number().int().min(1).max(32),
          p: z.number().int().min(1).max(16),
        })
        .refine(({ logN, r }) => 128 * 2 ** logN * r <= MAX_HASH_BYTES, {
          error: 'one hash would need more than 256 MiB (128·2^logN·r)',
        })
        .default({ logN: 15, r: 8, p: 3 }),
    })
    .prefault({}),
  unknownFields: z.enum(['reject', 'strip']).default('reject'),
  pagination: z
    .strictObject({
      defaultLimit: z.number().int().positive().default(20),
      maxLimit: z.number().int().positive().default(100),
      /** How lists count their total if neither the request nor the resource says. */
      count: z.enum(['exact', 'capped', 'none']).default('exact'),
    })
    .prefault({}),
  http: z
    .strictObject({
      /** Maximum size of a request body in bytes, after decompression. */
      bodyLimit: z.number().int().positive().default(1_048_576),
      /** Maximum size in bytes of the body of a batch, after decompression, and of the stored records that the batch changes. */
      batchBytes: z
        .number()
        .int()
        .positive()
        .default(8 * MEBIBYTE),
      /** Maximum number of fields in one object of a request body. */
      bodyKeys: z.number().int().positive().default(1000),
      /** Maximum size of the records in one list page, in bytes of JSON. A page that would be larger contains fewer records. */
      pageBytes: z
        .number()
        .int()
        .positive()
        .default(2 * MEBIBYTE),
      /** Maximum bytes of responses that the server holds in memory for one client, until the client has read them. */
      pendingBytesPerClient: z
        .number()
        .int()
        .positive()
        .default(16 * MEBIBYTE),
      /** Maximum bytes of responses that the server holds in memory for all clients together, per process. */
      pendingBytes: z
        .number()
        .int()
        .positive()
        .default(64 * MEBIBYTE),
      /** ms for which a client may read almost nothing of its response before its connection is destroyed. */
      stallMs: z.number().int().min(100).max(MAX_STALL_MS).default(30_000),
      /** Whether `/readyz` of `web` stays 200, with the status `degraded`, while Redis is not usable: requests work without it. */
      readyWithoutRedis: z.boolean().default(true),
    })
    .refine(({ pendingBytesPerClient, pendingBytes }) => pendingBytesPerClient <= pendingBytes, {
      error: 'pendingBytesPerClient must be at most pendingBytes',
    })
    .prefault({}),
  rateLimit: z
    .strictObject({
      /** Whether rate limits apply. Undefined: in every mode except test mode. */
      enabled: z.boolean().optional(),
      /** The limit for each client over all routes; false: no limit. */
      global: limitRuleOrFalse.default({ limit: 300, windowMs: 60_000 }),
      /** The limit for each client and route with `rateLimit: 'auth'`; false: no limit. */
      auth: limitRuleOrFalse.default({ limit: 10, windowMs: 15 * 60_000 }),
    })
    .prefault({}),
  openapi: z
    .strictObject({
      /** Whether `GET /api/openapi.json` and the reference are served. */
      enabled: z.boolean().default(true),
      /** Whether the reference at `GET /api/docs` is served. */
      docs: z.boolean().default(true),
      title: z.string().min(1).default('API'),
      /** The version of the API, as the team numbers it. */
      version: z.string().min(1).default('1.0.0'),
      /** The introduction of the document, in Markdown. */
      description: z.string().optional(),
    })
    .prefault({}),
  mail: z
    .strictObject({
      /** The locale of e-mails to recipients whose locale is not known or has no text. */
      locale: z
        .string()
        .refine((locale) => canonicalLocale(locale) !== undefined, { error: 'must be a locale, such as en or de-CH' })
        .default('en'),
      /** Replacements for the built-in e-mail texts. */
      templates: z
        .strictObject({ passwordReset: functionSchema<MailTemplate<PasswordResetMail>>().optional() })
        .prefault({}),
    })
    .prefault({}),
  files: z
    .strictObject({
      /** Where files are kept. Required in production if a field holds files; otherwise default `disk({ directory: '.data/files' })`. */
      storage: z
        .custom<FileStorage>((value) => typeof (value as Partial<FileStorage> | null)?.write === 'function', {
          error: 'must be a storage, such as disk({ directory }) or s3({ bucket })',
        })
        .optional(),
      /** Minutes for which the URL of a file in a response is valid at most. */
      urlTtlMinutes: z.number().positive().max(MAX_MINUTES).default(15),
      /** Maximum number of uploads of a user that no record uses yet. */
      pendingPerUser: z.number().int().positive().max(10_000).default(50),
      /** Maximum bytes of these uploads. A single file that its field accepts is always accepted. */
      pendingBytesPerUser: z
        .number()
        .int()
        .positive()
        .default(2 ** 30),
      /** Hours after which an upload that no record uses is removed. */
      pendingHours: z.number().positive().max(720).default(24),
      /** The limit of uploads for each client. */
      uploadLimit: limitRule.default({ limit: 60, windowMs: 60_000 }),
    })
    .prefault({}),
  relay: z
    .strictObject({
      /** ms between checks of the outbox when no wake-up arrives. */
      pollMs: z.number().int().positive().default(1000),
      /** ms between sweeps for overdue work. */
      sweepMs: z.number().int().positive().default(5000),
      /** Maximum number of outbox rows that the relay claims in one batch. */
      batch: z.number().int().positive().default(500),
      /** Number of batches that the relay processes concurrently. */
      streams: z.number().int().positive().default(2),
    })
    .prefault({}),
  push: z
    .strictObject({
      /** ms that `push.send` waits for the result before it returns `queued`. */
      waitMs: z.number().int().positive().default(10_000),
      /** Hosts allowed in browser subscriptions, besides those of the browser vendors: `push.example.com`, `*.example.com`, `*` for any. */
      endpointHosts: z
        .array(
          z.string().regex(/^(\*|(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*)$/, {
            error: 'must look like push.example.com, *.example.com or *',
          }),
        )
        .default([]),
    })
    .prefault({}),
  jobs: z
    .strictObject({
      /** Days for which jobs that succeeded or were cancelled are kept. */
      retentionDays: z.number().positive().max(MAX_DAYS).default(14),
      /** Days for which failed jobs are kept. */
      failedRetentionDays: z.number().positive().max(MAX_DAYS).default(90),
    })
    .prefault({}),
  log: z
    .strictObject({
      /**
       * The fraction of successful units of work that are logged, for units that occur very often: push chunks, webhook delivery attempts.
       * 1: all of them; 0: none. Failures are always logged.
       */
      sampleRate: z.number().min(0).max(1).default(1),
    })
    .prefault({}),
  /** What the console lists as slow. Each process keeps the newest and the slowest in memory. */
  slowLog: z
    .strictObject({
      /** ms from which a request is slow. 0: every request is listed. */
      requestMs: z.number().int().min(0).max(MAX_STALL_MS).default(500),
      /** ms from which a statement is slow. 0: every statement is listed. */
      statementMs: z.number().int().min(0).max(MAX_STALL_MS).default(200),
    })
    .prefault({}),
  /**
   * Time in ms that a stopping process waits for HTTP requests, push sends, e-mails and the app's jobs in progress before it aborts them.
   * For requests, it begins after the drain delay. Jobs of extensions are not limited by it.
   */
  graceMs: z.number().int().positive().default(15_000),
});

/** A project's settings with all defaults filled. */
export type Settings = z.output<typeof settingsSchema>;

/** A project's settings as the project writes them, before defaults are filled in. */
export type SettingsInput = z.input<typeof settingsSchema>;

/**
 * Validates the settings and fills in the defaults.
 *
 * @throws StartupError naming every setting that is unknown or malformed
 */
export function readSettings(input: SettingsInput | undefined): Settings {
  const parsed = parseSettings(settingsSchema, input ?? {});
  if (parsed.success) return parsed.data;
  const errors = new ConfigErrors();
  reportSettingErrors('settings', settingsSchema, parsed.error, errors);
  throw new StartupError('The settings have errors:', errors.lines);
}
