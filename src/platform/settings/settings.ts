import { z } from 'zod';
import { ConfigErrors, StartupError } from '../helpers/config-errors.ts';
import { durationSetting } from '../helpers/duration-setting.ts';
import { parseSettings, reportSettingErrors } from '../helpers/parse-settings.ts';
import { MAX_DAYS } from '../helpers/setting-limits.ts';
import { httpSettings } from '../http/settings.ts';
import { mailSettings } from '../mail/settings.ts';
import { logSettings } from '../observability/log-work.ts';
import { rateLimitSettings } from '../work/limits/rule.ts';
import { relaySettings } from '../work/outbox/settings.ts';
import { slowLogSettings } from '../work/processes/slow-log.ts';
import { accountSettings } from './accounts.ts';
import { fileSettings } from './files.ts';
import { applyFormerNames } from './former-names.ts';

const keptDays = durationSetting('d', z.number().positive().max(MAX_DAYS));

export const settingsSchema = z.strictObject({
  auth: accountSettings,
  unknownFields: z.enum(['reject', 'strip']).default('reject'),
  pagination: z
    .strictObject({
      defaultLimit: z.number().int().positive().default(20),
      maxLimit: z.number().int().positive().default(100),
      /** How lists count their total if neither the request nor the resource says. */
      count: z.enum(['exact', 'capped', 'none']).default('exact'),
    })
    .prefault({}),
  http: httpSettings,
  rateLimit: rateLimitSettings,
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
  mail: mailSettings,
  files: fileSettings,
  relay: relaySettings,
  push: z
    .strictObject({
      /** ms that `push.send` waits for the result before it returns `queued`. */
      waitMs: durationSetting('ms', z.number().int().positive()).default(10_000),
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
      keepDays: keptDays.default(14),
      /** Days for which failed jobs are kept. */
      keepFailedDays: keptDays.default(90),
    })
    .prefault({}),
  log: logSettings,
  slowLog: slowLogSettings,
  /**
   * Time in ms that a stopping process waits for HTTP requests, push sends, e-mails and the app's jobs in progress before it aborts them.
   * For requests, it begins after the drain delay. Jobs of extensions are not limited by it.
   */
  graceMs: durationSetting('ms', z.number().int().positive()).default(15_000),
});

/** A project's settings with all defaults filled. */
export type Settings = z.output<typeof settingsSchema>;

/** A project's settings as the project writes them, before defaults are filled in. */
export type SettingsInput = z.input<typeof settingsSchema> & FormerSettings;

/** Settings by their former names. */
interface FormerSettings {
  auth?: {
    /** @deprecated Use `recentSignIn`. */
    recentSignInMinutes?: number;
  };
  files?: {
    /** @deprecated Use `urlTtl`. */
    urlTtlMinutes?: number;
    /** @deprecated Use `maxPendingPerUser`. */
    pendingPerUser?: number;
    /** @deprecated Use `maxPendingBytesPerUser`. */
    pendingBytesPerUser?: number;
    /** @deprecated Use `pendingTtl`. */
    pendingHours?: number;
  };
  jobs?: {
    /** @deprecated Use `keepDays`. */
    retentionDays?: number;
    /** @deprecated Use `keepFailedDays`. */
    failedRetentionDays?: number;
  };
}

/**
 * Validates the settings and fills in the defaults.
 *
 * @throws StartupError naming every setting that is unknown or malformed
 */
export function readSettings(input: SettingsInput | undefined): Settings {
  const parsed = parseSettings(settingsSchema, applyFormerNames('settings', settingsSchema, input ?? {}));
  if (parsed.success) return parsed.data;
  const errors = new ConfigErrors();
  reportSettingErrors('settings', settingsSchema, parsed.error, errors);
  throw new StartupError('The settings have errors:', errors.lines);
}
