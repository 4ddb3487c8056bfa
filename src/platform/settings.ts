import { z } from 'zod';
import { ConfigErrors, reportSettings } from './config-errors.ts';
import { StartupError } from './environment.ts';
import { limitRule, RULE_FORM } from './limits/rule.ts';
import type { MailTemplate, PasswordResetMail } from './mail/templates.ts';

const MAX_HASH_BYTES = 256 * 2 ** 20;

/** A century. More is a slip of the pen, and no date can hold it. */
const MAX_DAYS = 36_500;

/** A year. More is a slip of the pen. */
const MAX_MINUTES = 525_600;

const MEBIBYTE = 2 ** 20;

/** An hour. More is a slip of the pen. */
const MAX_STALL_MS = 3_600_000;

/** Checks passwords of another system against its hashes. */
export type LegacyPassword = (hash: string, password: string) => boolean | Promise<boolean>;

const aFunction = <F>() => z.custom<F>((value) => typeof value === 'function', { error: 'must be a function' });

const ruleOrNone = z.union([limitRule, z.literal(false)], { error: `must be false or ${RULE_FORM}` });

const settingsSchema = z.strictObject({
  auth: z
    .strictObject({
      enabled: z.boolean().default(true),
      register: z.boolean().default(true),
      sessionTtlDays: z.number().positive().max(MAX_DAYS).default(30),
      devicesFollowSessions: z.boolean().default(true),
      /** The page on which a new password is set; e-mails link to it with `token` in the query. Default `${APP_URL}/reset-password`. */
      resetUrl: z
        .url({ protocol: /^https?$/, error: 'must look like https://app.example.com/reset-password' })
        .optional(),
      resetTokenTtlMinutes: z.number().positive().max(MAX_MINUTES).default(30),
      /** Checks a password against a hash that came from another system; the first login replaces the hash. */
      legacyPassword: aFunction<LegacyPassword>().optional(),
      /** Of sign-ins under one e-mail. */
      lockout: z
        .strictObject({
          /** The failed sign-in of this number locks; 0: none does. */
          maxAttempts: z.number().int().min(0).max(1000).default(5),
          /** In which they must fall. */
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
    })
    .prefault({}),
  http: z
    .strictObject({
      /** Bytes of a request body, after decompression. */
      bodyLimit: z.number().int().positive().default(1_048_576),
      /** Fields that one object in a request body may have. */
      bodyKeys: z.number().int().positive().default(1000),
      /** Bytes of the records in one page of a list, as JSON. A page that would be larger holds fewer records. */
      pageBytes: z
        .number()
        .int()
        .positive()
        .default(2 * MEBIBYTE),
      /** Bytes that answers for one client may hold in memory until they are read. */
      pendingBytesPerClient: z
        .number()
        .int()
        .positive()
        .default(16 * MEBIBYTE),
      /** The same for all clients of a process. */
      pendingBytes: z
        .number()
        .int()
        .positive()
        .default(64 * MEBIBYTE),
      /** ms for which a client may read almost nothing of its answer before its connection is destroyed. */
      stallMs: z.number().int().min(100).max(MAX_STALL_MS).default(30_000),
    })
    .refine(({ pendingBytesPerClient, pendingBytes }) => pendingBytesPerClient <= pendingBytes, {
      error: 'pendingBytesPerClient must be at most pendingBytes',
    })
    .prefault({}),
  rateLimit: z
    .strictObject({
      /** Whether any rate limit holds. Undefined: everywhere but in test mode. */
      enabled: z.boolean().optional(),
      /** Of each client, over all routes; false for none. */
      global: ruleOrNone.default({ limit: 300, windowMs: 60_000 }),
      /** Of each client and route, where a route says `rateLimit: 'auth'`; false for none. */
      auth: ruleOrNone.default({ limit: 10, windowMs: 15 * 60_000 }),
    })
    .prefault({}),
  openapi: z
    .strictObject({
      /** Whether `GET /api/openapi.json` and the reference are served. */
      enabled: z.boolean().default(true),
      /** Whether the reference at `GET /api/docs` is served. */
      docs: z.boolean().default(true),
      title: z.string().min(1).default('API'),
      /** Of the API, as the team counts it. */
      version: z.string().min(1).default('1.0.0'),
      /** What stands at the top of the document; Markdown. */
      description: z.string().optional(),
    })
    .prefault({}),
  mail: z
    .strictObject({
      /** What e-mails say, in place of the built-in texts. */
      templates: z
        .strictObject({ passwordReset: aFunction<MailTemplate<PasswordResetMail>>().optional() })
        .prefault({}),
    })
    .prefault({}),
  relay: z
    .strictObject({
      /** ms between looks at the outbox when no wake-up comes. */
      pollMs: z.number().int().positive().default(1000),
      /** ms between sweeps for overdue work. */
      sweepMs: z.number().int().positive().default(5000),
      /** Outbox rows taken at once. */
      batch: z.number().int().positive().default(500),
      /** Batches worked on side by side. */
      streams: z.number().int().positive().default(2),
    })
    .prefault({}),
  push: z
    .strictObject({
      /** ms that `push.send` waits for its result before it answers `queued`. */
      waitMs: z.number().int().positive().default(10_000),
      /** Hosts of push services that browsers may name, beside those of their makers: `push.example.com`, `*.example.com`, `*` for any. */
      endpointHosts: z
        .array(
          z.string().regex(/^(\*|(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*)$/, {
            error: 'must look like push.example.com, *.example.com or *',
          }),
        )
        .default([]),
    })
    .prefault({}),
  log: z
    .strictObject({
      /**
       * The share of successful units of work that are logged where there are very many of them: push chunks, attempts of webhook
       * deliveries. 1: each; 0: none. Failures are always logged.
       */
      sampleRate: z.number().min(0).max(1).default(1),
    })
    .prefault({}),
  /** ms that a stopping process waits for what is in flight. */
  graceMs: z.number().int().positive().default(15_000),
});

/** A project's settings with all defaults filled. */
export type Settings = z.output<typeof settingsSchema>;

/** A project's settings as it writes them: everything may be left out. */
export type SettingsInput = z.input<typeof settingsSchema>;

/**
 * Fills the defaults.
 *
 * @throws StartupError naming every setting that is unknown or malformed
 */
export function readSettings(input: SettingsInput | undefined): Settings {
  const parsed = settingsSchema.safeParse(input ?? {});
  if (parsed.success) return parsed.data;
  const errors = new ConfigErrors();
  reportSettings('settings', settingsSchema, parsed.error, errors);
  throw new StartupError('The settings are wrong:', errors.lines);
}
