import { getHeapStatistics } from 'node:v8';
import { z } from 'zod';
import {
  compiledPolicySettingSchema,
  durationSetting,
  isNameServer,
  policySettingSchema,
} from '../../../extension/index.ts';
import { type EventDeclarations, validateEventDeclarations } from './events.ts';
import { type PortalOption, portalSettingsSchema } from './portal-settings.ts';
import { DEFAULT_RETRY_SCHEDULE, parseSchedule } from './retry-schedule.ts';

const MAX_DEFAULT_CONCURRENCY = 256;
const HEAP_BYTES_PER_REQUEST = 2 * 2 ** 20;

/**
 * Returns the default of `concurrency`: the number up to which a worker raises its concurrent requests while receivers respond well. A
 * request needs up to 100 KB for its socket, and its body is limited separately.
 *
 * @param heapBytes the maximum size of the heap of this process, which Node derives from the memory of the machine or the container
 */
export function computeDefaultConcurrency(heapBytes: number): number {
  return Math.min(MAX_DEFAULT_CONCURRENCY, Math.max(10, Math.floor(heapBytes / HEAP_BYTES_PER_REQUEST)));
}

/** Maximum of `keepDeliveriesDays`, about 27 years. Ids of rows begin with the time, which must not be before 1970. */
const MAX_KEPT_DAYS = 10_000;
const count = z.number().int().positive();
const ms = (limits: z.ZodType<number>) => durationSetting('ms', limits);
const schedule = z.array(z.union([z.number(), z.string()])).transform((list, context) => {
  try {
    return parseSchedule(list);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
    return z.NEVER;
  }
});

/** The options of `webhooks()`, without the conditions between them. */
const settingsObject = z.strictObject({
  /** Who may have endpoints. */
  policy: policySettingSchema.default('authenticated'),
  /** Who may have endpoints that receive every record. */
  globalPolicy: compiledPolicySettingSchema.prefault('admin'),
  /** Whether receivers with private or local addresses may be called. Default: true outside production. */
  allowPrivate: z.boolean().optional(),
  /** Whether URLs must use https. Default: true in production. */
  requireHttps: z.boolean().optional(),
  /** Name servers for the hosts of receivers, as `address` or `address:port`. Default: those of the system. */
  nameServers: z
    .array(z.string().refine(isNameServer, { error: 'must be an IP address, with an optional port: "192.0.2.53:53"' }))
    .min(1)
    .optional(),
  /** The least powerful role in an organisation that manages its endpoints. Default: the role that manages the organisation. */
  organisationPolicy: z
    .templateLiteral(['org:', z.string()], { error: 'must be a role in organisations, such as "org:admin"' })
    .optional(),
  maxEndpointsPerUser: count.default(10),
  maxEndpointsPerOrganisation: count.default(10),
  maxEventsPerEndpoint: count.default(20),
  maxUrlLength: count.default(2048),
  /** Waits between attempts, in ms or as `'30s'`, `'5m'`, `'2h'`, `'1d'`. */
  retrySchedule: schedule.default([...DEFAULT_RETRY_SCHEDULE]),
  /** ms within which a receiver must have responded, including DNS, connection, TLS, headers and body. */
  timeoutMs: ms(count.max(120_000)).default(10_000),
  /** Interval in ms of the sweep that finds due deliveries without a job. */
  pollMs: ms(count).default(1000),
  /** Maximum number of concurrent requests of one worker process; left out: see `computeDefaultConcurrency`. */
  concurrency: count.max(1000).default(() => computeDefaultConcurrency(getHeapStatistics().heap_size_limit)),
  /** Consecutive deliveries that use up their schedule before an endpoint is disabled; 0: never disable. */
  disableAfterFailures: z.number().int().min(0).default(5),
  /** Whether owners get an e-mail when an endpoint is created, and when one is disabled automatically. */
  notifyOwner: z.boolean().default(true),
  /** Days that a delivery stays in the delivery log after it has succeeded or failed. */
  keepDeliveriesDays: durationSetting('d', z.number().positive().max(MAX_KEPT_DAYS)).default(14),
  /** Hours for which messages also carry the signature of a replaced secret; 0: not at all. */
  secretGraceHours: durationSetting('h', z.number().min(0).max(8760)).default(24),
  /** Maximum number of waiting polls of one process. */
  maxPolls: count.default(5000),
  /** Maximum number of waiting polls of one user in one process. */
  maxPollsPerUser: count.default(20),
  /** The page on which users manage their webhooks; left out: none. */
  portal: portalSettingsSchema,
  /** The app's own events, by name: `invoice.paid`. */
  events: z.custom<EventDeclarations>().superRefine(validateEventDeclarations).default({}),
  /** Interval in ms at which old data is deleted. */
  cleanMs: ms(count).default(600_000),
  /** Days for which outgoing events are kept, so that endpoints can get events that they have missed; 0: they are not kept. */
  keepEventsDays: durationSetting('d', z.number().min(0).max(MAX_KEPT_DAYS)).default(0),
});

/** The schema of the options of `webhooks()`. */
export const webhookSettings = settingsObject.refine(
  ({ keepEventsDays, keepDeliveriesDays }) => keepEventsDays <= keepDeliveriesDays,
  {
    path: ['keepEventsDays'],
    error:
      'must not be more than keepDeliveriesDays, because a backfill would send events again whose deliveries are forgotten',
  },
);

/** The options of `webhooks()` as a project writes them. All options are optional. */
export type WebhookOptions = Omit<z.input<typeof webhookSettings>, 'portal'> & {
  /** The page on which users manage their webhooks. `true`: with its defaults. Default false. */
  portal?: PortalOption | undefined;
};

/** The options of `webhooks()` with all defaults filled. */
export interface WebhookSettings extends z.output<typeof webhookSettings> {
  allowPrivate: boolean;
  requireHttps: boolean;
}

/** Fills the defaults that depend on whether the app runs in production. */
export function fillProductionDefaults(
  settings: z.output<typeof webhookSettings>,
  production: boolean,
): WebhookSettings {
  return {
    ...settings,
    allowPrivate: settings.allowPrivate ?? !production,
    requireHttps: settings.requireHttps ?? production,
  };
}

/** Returns the roles that allow global endpoints; null if the policy has other conditions too. */
export function listGlobalRoles({ globalPolicy }: Pick<WebhookSettings, 'globalPolicy'>): readonly string[] | null {
  const { functions, roles, verified } = globalPolicy;
  return globalPolicy.public || globalPolicy.authenticated || verified || functions.length > 0 ? null : roles;
}
