import type { PgTable } from 'drizzle-orm/pg-core';
import type { Administration } from '../accounts/administration.ts';
import { accountTables, createAccounts } from '../accounts/index.ts';
import { createPasswordHasher } from '../accounts/password-hash.ts';
import type { Extension, FeatureParts } from '../declare/extension.ts';
import type { Host } from '../declare/host.ts';
import { mergeParts } from '../declare/merge-parts.ts';
import type { AnyResource } from '../declare/resource.ts';
import { ConfigErrors } from '../platform/config-errors.ts';
import { createEncryption, type Encryption } from '../platform/crypto/encryption.ts';
import { createKeyring } from '../platform/crypto/keyring.ts';
import { encryptionKeys, encryptionProcesses } from '../platform/crypto/tables.ts';
import { type Environment, StartupError } from '../platform/environment.ts';
import { createEvents } from '../platform/events.ts';
import { createLimits } from '../platform/limits/index.ts';
import { createLog } from '../platform/log.ts';
import { createMail, type Mail, mailTables } from '../platform/mail/index.ts';
import type { MailComposer } from '../platform/mail/worker.ts';
import { createMetrics } from '../platform/metrics.ts';
import { outbox } from '../platform/outbox/table.ts';
import { createWake } from '../platform/outbox/wake.ts';
import type { Platform } from '../platform/platform.ts';
import { openDatabase } from '../platform/postgres/database.ts';
import { getTableConfig, isTable } from '../platform/postgres/drizzle.ts';
import { createQueues } from '../platform/queues.ts';
import { openRedis } from '../platform/redis.ts';
import type { Settings } from '../platform/settings.ts';
import { createPush, type Push, pushTables, transportMistakes } from '../push/index.ts';
import type { Transport } from '../push/transport.ts';
import { createRuleErrorLog } from '../records/access/rule-errors.ts';
import { findMistakes } from '../records/configuration/find-errors.ts';
import { featureRouteMistakes, pageMistakes } from '../records/configuration/route-errors.ts';
import { compileResources, createRecords, type Records, resourceTables, withArchives } from '../records/index.ts';
import type { CompiledResource } from '../records/schema/compiled.ts';
import { encryptedColumns } from '../records/store/encrypted-columns.ts';
import {
  accountFields,
  checkAccountFields,
  checkApis,
  checkExtensions,
  checkJobs,
  checkOperationIds,
  checkTables,
  isParts,
  mailsOf,
} from './config-errors.ts';
import { withPostgres } from './connect.ts';
import { createExtensionJobs } from './extension-jobs.ts';
import { idempotencyParts, idempotencyTables } from './http/idempotency/index.ts';
import { checkSchema } from './migrations/check-schema.ts';
import { type Declared as DeclaredTables, declaredTables } from './migrations/declared.ts';
import { type MigrateOptions, migrateDatabase } from './migrations/migrate.ts';
import { relationNames } from './migrations/relation-names.ts';
import { openApiRoutes } from './openapi/document.ts';
import { createTransact } from './transaction.ts';

interface Declared {
  resources: readonly AnyResource[];
  extensions: readonly Extension[];
  transports: readonly Transport[];
  /** What the app has itself, by name: no extension may take its place. */
  members?: object;
}

/** Accounts from the command line. */
export interface AppAdministration extends Administration {
  /**
   * Connects to the database and makes sure that it has the tables.
   *
   * @throws StartupError when it cannot be reached, or lacks some
   */
  ready(): Promise<void>;
}

/** A whole app, put together and not started. */
export interface Assembly {
  platform: Platform;
  host: Host;
  records: Records;
  push: Push;
  mail: Mail;
  /** Undefined without accounts. */
  administration: AppAdministration | undefined;
  encryption: Encryption;
  /** What core features and extensions bring, merged: core first, then extensions in order. */
  parts: FeatureParts;
  apis: readonly { name: string; api: object }[];
  tables: Record<string, PgTable>;
  /** What migrations need to know of the tables beyond their SQL. */
  declared: DeclaredTables;
  migrate(options: MigrateOptions): Promise<void>;
  /** Closes all connections. */
  close(): Promise<void>;
}

function createPlatform(env: Environment, settings: Settings): Platform {
  const log = createLog(env.logLevel, env.logProcess);
  const metrics = createMetrics();
  const redis = openRedis(env.redisUrl, log);
  return {
    env,
    settings,
    log,
    metrics,
    redis,
    database: openDatabase(env.databaseUrl, env.redisPrefix, log),
    queues: createQueues(redis, env.redisPrefix, log),
    limits: createLimits(redis.commands, env.redisPrefix, log, metrics),
    wake: createWake(redis.commands, env.redisPrefix),
    keyring: createKeyring(env.encryptionKeys),
    events: createEvents(log),
  };
}

/** Belfry's own tables, by name. */
const CORE_TABLES: Record<string, PgTable> = {
  outbox,
  encryption_keys: encryptionKeys,
  encryption_processes: encryptionProcesses,
  ...idempotencyTables,
  ...accountTables,
  ...pushTables,
  ...mailTables,
};

/** The tables that are not resources', by name. */
function ownTables(extensions: readonly Extension[]): Record<string, PgTable> {
  const theirs = extensions.flatMap(({ tables }) => Object.values(tables ?? {})).filter(isTable);
  return { ...CORE_TABLES, ...Object.fromEntries(theirs.map((table) => [getTableConfig(table).name, table])) };
}

/** Reports what is wrong with declarations, as far as it shows before anything is set up. */
export function checkDeclarations(
  { resources, extensions, transports }: Declared,
  settings: Settings | undefined,
  errors: ConfigErrors,
): void {
  const taken = relationNames(ownTables(extensions));
  const extended = new Set(extensions.flatMap((extension) => extension.resourceOptions ?? []));
  for (const line of findMistakes(resources, { taken, extended })) errors.report(line);
  if (settings?.auth.enabled ?? true) checkAccountFields(resources, errors);
  checkExtensions(extensions, errors);
  checkTables(extensions, resources, relationNames(CORE_TABLES), errors);
  for (const line of transportMistakes(transports)) errors.report(line);
}

/** Passwords that came from another system. */
function legacyOf({ settings, log }: Platform) {
  const verify = settings.auth.legacyPassword;
  return verify && { verify, failed: (error: unknown) => log.error({ err: error }, 'auth.legacyPassword failed') };
}

/** What every app has: records, accounts, push and mail. */
interface Core {
  platform: Platform;
  compiled: readonly CompiledResource[];
  records: Records;
  push: Push;
  mail: Mail;
  /** Undefined when accounts are not enabled. */
  accounts: ReturnType<typeof createAccounts> | undefined;
  host: Host;
}

/**
 * Makes the core of an app.
 *
 * @param mails the e-mails of all features, known once these are set up
 */
function createCore(
  { resources, extensions, transports }: Declared,
  platform: Platform,
  mails: () => Readonly<Record<string, MailComposer>>,
): Core {
  const { settings, log } = platform;
  const taken = relationNames(ownTables(extensions));
  const compiled = compileResources(resources, settings.unknownFields, taken, createRuleErrorLog(log));
  const hasAccounts = settings.auth.enabled && accountFields(resources) !== undefined;
  const isUser = ({ name }: { name: string }) => hasAccounts && name === 'user';
  const push = createPush(platform, transports, compiled.find(isUser));
  const hasher = createPasswordHasher(settings.auth.password, { legacy: legacyOf(platform) });
  const { enqueueWithin } = push;
  const records = createRecords(platform, compiled, hasher.hash, { ...push.sender, enqueueWithin });
  const users = records.gateways.find(isUser);
  const mail = createMail(platform, mails);
  const host: Host = {
    ...platform,
    service: records.service,
    resources: records.gateways,
    users,
    push: push.sender,
    simulated: push.simulated,
    mail: mail.sender,
    transaction: createTransact(platform, records, { push, mail: mail.sender }),
    currentTransaction: records.transactions.current,
  };
  const accounts =
    users && createAccounts(host, hasher, records.context, records.entities.get('user')!, users, push.tokenRule);
  return { platform, compiled, records, push, mail, accounts, host };
}

/** What all features of an app bring. */
interface Features {
  /** Merged: core features first, then extensions in order. */
  parts: FeatureParts;
  mails: Readonly<Record<string, MailComposer>>;
  /** What each extension offers to code. */
  apis: readonly { name: string; api: object }[];
}

/**
 * Sets up the features of an app.
 *
 * @returns undefined after it has reported errors in what extensions bring
 */
function setUpFeatures(core: Core, { extensions, members = {} }: Declared, errors: ConfigErrors): Features | undefined {
  const { platform, compiled, records, push, mail, accounts, host } = core;
  const { settings, queues } = platform;
  // What all features bring is known once all are set up; code that asks for it earlier finds nothing.
  let all: FeatureParts = {};
  const routes = () => all.routes ?? [];
  const authenticators = () => all.authenticators ?? [];
  const extensionHost = {
    ...host,
    accounts: accounts?.api,
    routes,
    authenticators,
    userData: () => all.userData ?? [],
  };
  const setUp = extensions.map((extension) => {
    const { name } = extension;
    const jobs = createExtensionJobs(queues, name);
    const parts = partsOf(
      () => extension.setup({ ...extensionHost, jobs: jobs.handout }),
      errors.at(`extension "${name}"`),
    );
    return { name, parts, jobs };
  });
  // Jobs, e-mails and an API are of one extension each, by name.
  const shared = setUp.map(({ parts }) => ({ ...parts, jobs: undefined, mails: undefined, api: undefined }));
  const ofExtensions = mergeParts(...shared);
  const ofCore = mergeParts(
    { routes: records.routes, encrypted: encryptedColumns(withArchives(compiled)) },
    push.parts,
    mail.parts,
    idempotencyParts(platform),
    {
      routes: openApiRoutes(settings, () => ({
        routes: routes(),
        authenticators: authenticators(),
        sent: all.sent ?? [],
        resources: compiled,
        settings,
      })),
    },
    accounts?.feature(ofExtensions) ?? {},
  );
  all = mergeParts(ofCore, ofExtensions);
  const mails = mailsOf(setUp, ofCore.mails ?? {}, errors);
  for (const line of [
    ...featureRouteMistakes(
      setUp.map(({ name, parts }) => ({ name, routes: parts.routes ?? [] })),
      ofCore.routes ?? [],
    ),
    ...pageMistakes(
      setUp.map(({ name, parts }) => ({ name, routes: parts.pages ?? [] })),
      ofCore.pages ?? [],
    ),
  ])
    errors.report(line);
  for (const extension of setUp) checkJobs(extension, errors);
  checkApis(setUp, members, errors);
  checkOperationIds(routes(), errors);
  all.checkConfig?.(errors);
  if (errors.lines.length > 0) return undefined;
  return {
    parts: mergeParts(all, ...setUp.flatMap(({ parts, jobs }) => jobs.features(parts.jobs))),
    mails,
    apis: setUp.flatMap(({ name, parts: { api } }) => (api === undefined ? [] : [{ name, api }])),
  };
}

/** The parts that `setup` returns; none after it has reported that it cannot work. */
function partsOf(setup: () => unknown, errors: ConfigErrors): FeatureParts {
  try {
    const parts = setup();
    if (isParts(parts)) return parts;
    errors.report('setup(host) must return an object of its parts, and no promise');
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    for (const line of error.faults) errors.report(line);
  }
  return {};
}

/**
 * Puts an app together: platform, records, accounts, push, extensions. The declarations have no errors that `checkDeclarations` finds.
 *
 * @returns undefined after it has reported errors in what extensions bring
 */
export function assemble(
  declared: Declared,
  env: Environment,
  settings: Settings,
  errors = new ConfigErrors(),
): Assembly | undefined {
  const platform = createPlatform(env, settings);
  const core = createCore(declared, platform, () => features?.mails ?? {});
  const features = setUpFeatures(core, declared, errors);
  if (features === undefined) return undefined;
  const { parts, apis } = features;
  for (const [name, listener] of Object.entries(parts.listeners ?? {})) platform.events.on(name, listener);
  const { compiled, records, push, mail, host, accounts } = core;
  const tables = { ...ownTables(declared.extensions), ...resourceTables(compiled) };
  const about = declaredTables(
    withArchives(compiled),
    declared.extensions.flatMap(({ statements = [] }) => statements),
  );
  const ready = () => withPostgres(platform, () => checkSchema(platform.database, tables));
  return {
    platform,
    host,
    records,
    push,
    mail,
    encryption: createEncryption(platform, parts.encrypted ?? [], ready),
    administration: accounts && { ...accounts.administration, ready },
    parts,
    apis,
    tables,
    declared: about,
    migrate: (options) =>
      withPostgres(platform, () =>
        migrateDatabase(platform.database, { tables, declared: about }, options, platform.log),
      ),
    async close() {
      await platform.queues.close();
      await Promise.all([platform.redis.close(), platform.database.close()]);
    },
  };
}
