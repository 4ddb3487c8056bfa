import type { PgTable } from 'drizzle-orm/pg-core';
import { emittedActionsOf, type PlatformEventName, type RecordAction, type RecordEvent } from '../declare/events.ts';
import type { Extension } from '../declare/extension.ts';
import type { FilesApi } from '../declare/file.ts';
import type { RecordOf } from '../declare/infer.ts';
import type { ScheduleDeclaration } from '../declare/job.ts';
import type { AnyJob, Jobs } from '../declare/job-queue.ts';
import type { AnyMail } from '../declare/mail.ts';
import type { PushSender, SimulatedDevices } from '../declare/push.ts';
import type { AnyResource, Resource, Service } from '../declare/resource.ts';
import type { AnyService, DeclarationWithService, Transaction } from '../declare/service.ts';
import { checkFiles } from '../files/index.ts';
import { checkEnqueuedJobs, compileJobs, compileSchedules } from '../jobs/index.ts';
import type { Encryption } from '../platform/data/crypto/encryption.ts';
import { getOrCreateAvailability } from '../platform/data/postgres/availability.ts';
import { ConfigErrors, StartupError } from '../platform/helpers/config-errors.ts';
import type { LanguageOptions } from '../platform/languages/options.ts';
import type { CapturedMails } from '../platform/mail/index.ts';
import type { MailOverrides } from '../platform/mail/texts/index.ts';
import type { Finding } from '../platform/observability/finding.ts';
import { type Environment, readEnvironment } from '../platform/settings/environment.ts';
import { readSettings, type Settings, type SettingsInput } from '../platform/settings/settings.ts';
import type { CapturedPushes } from '../push/history/read-push.ts';
import type { PushReceipts } from '../push/history/receipt.ts';
import { createDefaultTransports } from '../push/index.ts';
import type { Transport } from '../push/message/transport.ts';
import { type AppAdministration, type AppBulkRecords, type AssembledApp, assembleApp } from './assemble.ts';
import { checkAppOptions } from './config-errors.ts';
import { addUserFields, checkDeclarations, collectResources } from './declarations.ts';
import { type DiagnoseOptions, diagnose } from './diagnosis/diagnose.ts';
import { type AppStatus, readStatus } from './diagnosis/status.ts';
import { type AppMail, compileProjectMails, createAppMail } from './mail-outlet.ts';
import type { MigrateOptions } from './migrations/migrate.ts';
import type { DeclaredFacts } from './migrations/plan/declared.ts';
import { createShutdown } from './shutdown.ts';
import { type StartOptions, startRoles } from './start.ts';

/** The options of `createApp`. */
export interface AppOptions<R extends readonly AnyResource[], E extends readonly Extension[] = readonly Extension[]>
  extends LanguageOptions {
  /** The declarations of `defineResource` and `defineUser`. An app without a user resource has no accounts. */
  resources: R;
  /** Default: none. */
  extensions?: E;
  /** Settings of the app. Settings of extensions are arguments of the extensions. Default: a default for each setting. */
  settings?: SettingsInput;
  /**
   * Texts that replace the texts of Belfry's own e-mails, by kind and locale. The recipient's field `locale` decides, or the
   * `Accept-Language` of the request. The second argument of a text has the locale in which it writes. For further e-mails, use `mails`.
   *
   * @example mailTexts: { 'verify-email': { de: ({ link, code }) => ({ subject: 'Adresse bestätigen', text: `${link}\n\n${code}` }) } }
   */
  mailTexts?: MailOverrides;
  /** The project's own e-mails, created with `defineMail`. To change the e-mails of Belfry, use `mailTexts`. */
  mails?: readonly AnyMail[];
  /** The kinds of background work, created with `defineJob`. */
  jobs?: readonly AnyJob[];
  /**
   * When jobs are enqueued again and again.
   *
   * @example schedules: [{ cron: '0 2 * * *', timeZone: 'Europe/Berlin', job: closeStale, input: { olderThanDays: 30 } }]
   */
  schedules?: readonly ScheduleDeclaration[];
  /**
   * Push transports; the first one that accepts a device sends to it. Default: APNs, FCM and Web Push, if their credentials are in the
   * environment. A list replaces the default ones; a function receives them and returns the list to use.
   *
   * @example transports: (defaults) => [...defaults, smsTransport({ apiKey: environment.SMS_API_KEY })]
   */
  transports?: readonly Transport[] | ((defaults: readonly Transport[]) => readonly Transport[]);
  /** Called once with the app, to register listeners. */
  listeners?: (app: App<R> & Apis<E>) => void;
}

/** Whether the compiler knows the names of the app's resources. */
type KnowsResourceNames<R extends readonly AnyResource[]> = string extends R[number]['name'] ? false : true;

/** The type of the resource declaration with a name; for a union of names, a union of declarations. */
type DeclarationNamed<R extends readonly AnyResource[], N extends string> =
  KnowsResourceNames<R> extends true ? Extract<R[number], { name: N }> : AnyResource;

type RecordIn<X extends AnyResource> = X extends Resource<string, infer F, infer T> ? RecordOf<F, T> : never;

/** The service of a declaration. For a union of several declarations, an untyped service, which can be called. */
type ServiceIn<X extends AnyResource, All = X> =
  X extends Resource<string, infer F, infer T> ? ([All] extends [X] ? Service<F, T> : AnyService) : never;

type ServiceNamed<R extends readonly AnyResource[], N extends string> =
  KnowsResourceNames<R> extends true ? ServiceIn<DeclarationNamed<R, N>> : AnyService;

/** The name of an event that belongs to no resource of the app; any name if the compiler does not know the resources. */
type OtherEvent<R extends readonly AnyResource[], N extends string> = string extends R[number]['name']
  ? N
  : N extends `${R[number]['name']}.${string}`
    ? never
    : N;

type ApiOf<E extends Extension> = E extends Extension<string, infer Api> ? Api : never;

/** The APIs that extensions offer to code, by extension name; extensions without an API are left out. */
type Apis<E extends readonly Extension[]> = {
  readonly [X in E[number] as object extends ApiOf<X> ? never : X['name']]: ApiOf<X>;
} & {
  /** Type-level only: what the extensions add to the resources, for the types of clients. */
  readonly $additions?: AdditionsOf<E[number]>;
};

/** What extensions add, as a union. */
type AdditionsOf<E extends Extension> = E extends { readonly $adds?: infer Added } ? NonNullable<Added> : never;

type TypedTransaction<R extends readonly AnyResource[]> = Omit<Transaction, 'service'> & Pick<App<R>, 'service'>;

/** An app: its records, events and processes. */
export interface App<R extends readonly AnyResource[] = readonly AnyResource[]> {
  /** Migrates the database to match the declarations. */
  migrate(options: MigrateOptions): Promise<void>;
  /**
   * Connects and starts roles in this process; default: the roles that the environment does not disable.
   *
   * @returns `url` of `web`, `metricsUrl` and `healthUrl` of metrics and health checks on a separate port; empty if this process does not
   *   serve them
   * @throws StartupError if a requirement is missing
   */
  start(options?: StartOptions): Promise<{ url: string; metricsUrl: string; healthUrl: string }>;
  /** Checks the environment, the servers, the migrations, the tables and the clocks, for `belfry doctor`. Changes nothing. */
  diagnose(options?: DiagnoseOptions): Promise<Finding[]>;
  /** Reads which processes run, what waits for them, and what is wrong, for `belfry status`. Changes nothing. */
  readStatus(options?: DiagnoseOptions): Promise<AppStatus>;
  /** Finishes work in progress and stops. `web` first goes on serving for `DRAIN_DELAY_MS`. */
  close(): Promise<void>;
  /** The ms that `close` may need with these settings; a process that takes longer should exit. */
  stopLimitMs: number;
  /**
   * Registers a listener of in-process events: record changes, platform events, or events of an extension.
   *
   * @throws Error for an event that a resource does not have
   */
  on<N extends R[number]['name'], A extends RecordAction>(
    name: `${N}.${A}`,
    handler: (event: RecordEvent<N, A, RecordIn<DeclarationNamed<R, N>>>) => unknown,
  ): void;
  // biome-ignore lint/suspicious/noExplicitAny: what an event of the platform carries is documented with its feature
  on(name: PlatformEventName, handler: (payload: any) => unknown): void;
  on<Payload, N extends string = string>(name: OtherEvent<R, N>, handler: (payload: Payload) => unknown): void;
  /**
   * Returns the service of a resource, by its declaration or its name.
   *
   * @throws Error if the app has no such resource
   * @example await app.service('post').create({ title: 'Hello' }, { user })
   */
  service<S>(resource: DeclarationWithService<S, R[number]['name']>): S;
  service<N extends R[number]['name']>(name: N): ServiceNamed<R, N>;
  /** Changes several records atomically; their events are sent only after the commit. */
  transaction<T>(work: (tx: TypedTransaction<R>) => Promise<T>): Promise<T>;
  /** Sends push notifications, and records receipts that providers report later. */
  push: PushSender & PushReceipts;
  /** Simulated devices for development, which receive pushes without a real device; undefined in production. */
  simulated: SimulatedDevices | undefined;
  /** Sends e-mails. */
  mail: AppMail;
  /** Stores and reads files of fields that `f.file` declares. */
  files: FilesApi;
  /** Enqueues, lists, cancels and retries background jobs. */
  jobs: Jobs;
  /** The account commands of the command line; undefined if the app has no accounts. */
  accounts: AppAdministration | undefined;
  /** Imports and exports of the command line. */
  bulk: AppBulkRecords;
  /** Reports which key encrypts which values, and rotates to the newest key. The database must have its tables. */
  encryption: Pick<Encryption, 'status' | 'rotate'>;
  /** E-mails and pushes that were captured instead of sent, in development and tests. */
  captured: CapturedPushes & CapturedMails;
  /** Every table of the app, by name, for migrations. */
  tables: Record<string, PgTable>;
  /** Facts about the tables beyond their SQL, for migrations. */
  declared: DeclaredFacts;
  /** Type-level only: the resources of the declaration, for the types of clients. */
  readonly $resources?: R[number];
}

/** The names of the app's own members, which extensions must not replace; the type ensures that the list is complete. */
const APP_MEMBERS: Record<Exclude<keyof App, '$resources'>, true> = {
  migrate: true,
  start: true,
  diagnose: true,
  readStatus: true,
  close: true,
  stopLimitMs: true,
  on: true,
  service: true,
  transaction: true,
  push: true,
  simulated: true,
  mail: true,
  files: true,
  jobs: true,
  accounts: true,
  bulk: true,
  encryption: true,
  captured: true,
  tables: true,
  declared: true,
};

/** Platforms send SIGKILL 30 s after SIGTERM by default. Exit earlier to lose nothing. */
const MIN_STOP_LIMIT_MS = 25_000;
/** ms for writing the last results and closing connections after the grace time. */
const STOP_MARGIN_MS = 5000;

const assemblies = new WeakMap<object, AssembledApp>();

/** Returns the assembled parts of an app, for tests; undefined if the value was not returned by `createApp`. */
export function findAssembly(app: unknown): AssembledApp | undefined {
  return typeof app === 'object' && app !== null ? assemblies.get(app) : undefined;
}

function computeStopLimitMs({ drainDelayMs }: Environment, { graceMs }: Settings): number {
  return Math.max(MIN_STOP_LIMIT_MS, drainDelayMs + graceMs + STOP_MARGIN_MS);
}

/**
 * Creates an app from declarations. Opens no connection yet.
 *
 * @param variables the environment, read once: usually `process.env`
 * @throws StartupError listing every configuration error in environment, settings and declarations at once
 * @example createApp({ resources: [defineUser(), post], extensions: [webhooks(), apiKeys()] }, process.env)
 */
export function createApp<const R extends readonly AnyResource[], const E extends readonly Extension[] = readonly []>(
  options: AppOptions<R, E>,
  variables: Record<string, string | undefined>,
): App<R> & Apis<E> {
  const parts = checkAndAssemble(options, variables);

  const shutdown = createShutdown();
  let closing: Promise<void> | undefined;
  const app: App<R> = {
    migrate: (how) => parts.migrate(how),
    start: (how = {}) => startRoles(parts, how, shutdown),
    diagnose: (options = {}) => diagnose(parts, options),
    readStatus: (options = {}) => readStatus(parts, options),
    close() {
      closing ??= (async () => {
        const { database } = parts.platform;
        // Without Postgres, work in progress would wait for it.
        const { giveUp } = getOrCreateAvailability(database);
        const giveUpTimer = setTimeout(giveUp, parts.platform.settings.graceMs);
        try {
          await shutdown.stopAll();
        } finally {
          clearTimeout(giveUpTimer);
          giveUp();
          await parts.close();
        }
      })();
      return closing;
    },
    stopLimitMs: computeStopLimitMs(parts.platform.env, parts.platform.settings),
    on(name: string, handler: (payload: never) => unknown) {
      const [resource, action] = name.split('.');
      const declared = options.resources.find((one) => one.name === resource);
      const actions = declared && emittedActionsOf(declared);
      if (actions?.some((one) => one === action) === false)
        throw new Error(`There is no event "${name}". Events of ${resource}: ${actions.join(', ')}`);
      parts.platform.events.on(name, handler);
    },
    service: (resource: DeclarationWithService<unknown> | string) => parts.records.service(resource as string) as never,
    transaction: (work) => parts.host.transaction((tx) => work(tx as never)),
    push: parts.push.sender,
    simulated: parts.push.simulated,
    mail: createAppMail(parts.mail.sender, parts.host.senders.mail),
    files: parts.files.api,
    jobs: parts.host.senders.jobs,
    accounts: parts.administration,
    bulk: parts.bulk,
    encryption: parts.encryption,
    captured: { ...parts.push.captured, ...parts.mail.captured },
    tables: parts.tables,
    declared: parts.declared,
  };
  for (const { name, api } of parts.apis) Object.defineProperty(app, name, { value: api, enumerable: true });
  const appWithApis = app as typeof app & Apis<E>;
  assemblies.set(app, parts);
  options.listeners?.(appWithApis);
  return appWithApis;
}

/**
 * Checks all inputs and assembles the app. Extensions are set up only if there are no other errors.
 *
 * @throws StartupError listing all configuration errors
 */
function checkAndAssemble(
  options: Omit<AppOptions<readonly AnyResource[]>, 'listeners'>,
  variables: Record<string, string | undefined>,
): AssembledApp {
  const errors = new ConfigErrors();
  const env = tryReportingErrors(errors, () => readEnvironment(variables));
  const settings = tryReportingErrors(errors, () => readSettings(options.settings));
  const areOptionsValid = checkAppOptions(options, errors);
  const transports = chooseTransports(options.transports, env, settings, errors);
  const extensions = options.extensions ?? [];
  const resources = areOptionsValid
    ? addUserFields(collectResources(options.resources, extensions, errors), extensions, errors)
    : options.resources;
  const jobs = areOptionsValid ? compileJobs(options.jobs ?? [], errors) : new Map();
  const schedules = areOptionsValid ? compileSchedules(options.schedules ?? [], jobs, errors) : [];
  const projectMails = areOptionsValid ? compileProjectMails(options.mails ?? [], errors) : [];
  const parts = { projectMails, jobs: { jobs, schedules }, members: APP_MEMBERS };
  const declared = { ...options, resources, extensions, transports, ...parts };
  if (areOptionsValid) checkDeclarations(declared, settings, errors);
  if (areOptionsValid) checkEnqueuedJobs(resources, jobs, errors);
  if (areOptionsValid && env && settings && errors.lines.length === 0) checkFiles(resources, env, settings, errors);
  const hasNoErrors = errors.lines.length === 0;
  const assembly = hasNoErrors && env && settings ? assembleApp(declared, env, settings, errors) : undefined;
  if (assembly === undefined) throw new StartupError('The app has configuration errors:', errors.lines);
  return assembly;
}

/** Returns the app's push transports. The default transports are created only if the app uses them. */
function chooseTransports(
  transports: AppOptions<readonly AnyResource[]>['transports'],
  env: Environment | undefined,
  settings: Settings | undefined,
  errors: ConfigErrors,
): readonly Transport[] {
  if (Array.isArray(transports)) return transports;
  const defaults = env && settings && tryReportingErrors(errors, () => createDefaultTransports(env, settings));
  if (defaults === undefined || typeof transports !== 'function') return defaults ?? [];
  try {
    const chosen: unknown = transports(defaults);
    if (Array.isArray(chosen)) return chosen;
    errors.at('transports').report('the function must return a list of transports');
  } catch (error) {
    errors.at('transports').report(`the function threw ${String(error)}`);
  }
  return [];
}

/** Returns the result of a function. If the function throws a StartupError, reports its errors and returns undefined. */
function tryReportingErrors<T>(errors: ConfigErrors, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    for (const line of error.errors) errors.report(line);
    return undefined;
  }
}
