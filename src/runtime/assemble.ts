import type { PgTable } from 'drizzle-orm/pg-core';
import type { Administration } from '../accounts/administration.ts';
import { accountTables, createAccounts } from '../accounts/index.ts';
import { createPasswordHasher } from '../accounts/password-hash.ts';
import type { Extension, FeatureParts } from '../declare/extension.ts';
import type { Host, UserData } from '../declare/host.ts';
import type { AnyResource } from '../declare/resource.ts';
import type { Route } from '../declare/route.ts';
import { createEncryption, type Encryption } from '../platform/crypto/encryption.ts';
import { createKeyring } from '../platform/crypto/keyring.ts';
import { encryptionKeys, encryptionProcesses } from '../platform/crypto/tables.ts';
import { type Environment, StartupError } from '../platform/environment.ts';
import { createEvents } from '../platform/events.ts';
import { createLimits } from '../platform/limits/index.ts';
import { createLog } from '../platform/log.ts';
import { createMail, type Mail, mailTables } from '../platform/mail/index.ts';
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
import { encryptedColumns } from '../records/store/encrypted-columns.ts';
import { withPostgres } from './connect.ts';
import { createExtensionJobs } from './extension-jobs.ts';
import { extensionMistakes } from './extension-mistakes.ts';
import { idempotencyParts, idempotencyTables } from './http/idempotency/index.ts';
import { jobMistakes } from './job-mistakes.ts';
import { checkSchema } from './migrations/check-schema.ts';
import { type Declared as DeclaredTables, declaredTables } from './migrations/declared.ts';
import { type MigrateOptions, migrateDatabase } from './migrations/migrate.ts';
import { relationNames } from './migrations/relation-names.ts';
import { openApiRoutes } from './openapi/document.ts';
import { operationIdMistakes } from './openapi/documented-routes.ts';
import { apiMistakes, isParts, mailMistakes } from './part-mistakes.ts';
import { tableMistakes } from './table-mistakes.ts';
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
  /** Core features first, then extensions in order. */
  features: readonly FeatureParts[];
  apis: readonly { name: string; api: object }[];
  tables: Record<string, PgTable>;
  /** What migrations need to know of the tables beyond their SQL. */
  declared: DeclaredTables;
  migrate(options: MigrateOptions): Promise<void>;
  /** Closes all connections. */
  close(): Promise<void>;
}

function platformOf(env: Environment, settings: Settings): Platform {
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

function declarationMistakes(declared: Declared, taken: ReadonlySet<string>, settings: Settings | undefined): string[] {
  const extended = new Set(declared.extensions.flatMap((extension) => extension.resourceOptions ?? []));
  return [
    ...findMistakes(declared.resources, { taken, extended }),
    ...accountMistakes(declared.resources, settings?.auth.enabled ?? true),
    ...extensionMistakes(declared.extensions),
    ...tableMistakes(declared.extensions, declared.resources, relationNames(CORE_TABLES)),
    ...transportMistakes(declared.transports),
  ];
}

/** The e-mail and the password of the user resource, by which accounts sign in; undefined where it does not declare both. */
function accountFields(resources: readonly AnyResource[]) {
  const { email, password } = resources.find((resource) => resource.name === 'user')?.fields ?? {};
  return email && password && { email: email.spec, password: password.spec };
}

function accountMistakes(resources: readonly AnyResource[], enabled: boolean): string[] {
  const fields = enabled ? accountFields(resources) : undefined;
  if (fields === undefined) return [];
  const mistakes: string[] = [];
  for (const name of ['email', 'password'] as const) {
    const { kind } = fields[name];
    if (kind !== name)
      mistakes.push(
        `resource "user": field "${name}": accounts sign in by it, and its type is ${kind}; declare it with f.${name}(), or set settings.auth.enabled to false`,
      );
  }
  if (fields.email.kind === 'email' && !fields.email.unique)
    mistakes.push('resource "user": field "email": accounts sign in by it; add unique()');
  return mistakes;
}

function routesOf(features: readonly FeatureParts[]): Route[] {
  return features.flatMap((feature) => feature.routes ?? []);
}

function userDataOf(features: readonly FeatureParts[]): UserData[] {
  return features.flatMap((feature) => feature.userData ?? []);
}

/** Passwords that came from another system. */
function legacyOf({ settings, log }: Platform) {
  const verify = settings.auth.legacyPassword;
  return verify && { verify, failed: (error: unknown) => log.error({ err: error }, 'auth.legacyPassword failed') };
}

/** What the OpenAPI document takes of all features, once they are there. */
function openApiParts(features: readonly FeatureParts[]) {
  return {
    routes: routesOf(features),
    authenticators: features.flatMap((feature) => feature.authenticators ?? []),
    sent: features.flatMap((feature) => feature.sent ?? []),
  };
}

/**
 * Puts an app together: platform, records, accounts, push, extensions.
 *
 * @param env undefined when it is faulty: then only the declarations are checked
 * @throws StartupError listing every mistake in the declarations
 */
export function assemble(
  declared: Declared,
  env: Environment | undefined,
  settings: Settings | undefined,
): Assembly | undefined {
  const own = ownTables(declared.extensions);
  const taken = relationNames(own);
  const mistakes = declarationMistakes(declared, taken, settings);
  if (mistakes.length > 0) throw new StartupError('The declarations are wrong:', mistakes);
  if (env === undefined || settings === undefined) return undefined;

  const platform = platformOf(env, settings);
  const hasher = createPasswordHasher(settings.auth.password, { legacy: legacyOf(platform) });
  const compiled = compileResources(
    declared.resources,
    settings.unknownFields,
    taken,
    createRuleErrorLog(platform.log),
  );
  const enabled = settings.auth.enabled && accountFields(declared.resources) !== undefined;
  const push = createPush(
    platform,
    declared.transports,
    enabled ? compiled.find(({ name }) => name === 'user') : undefined,
  );
  const { enqueueWithin } = push;
  const records = createRecords(platform, compiled, hasher.hash, { ...push.sender, enqueueWithin });
  const users = enabled ? records.gateways.find((gateway) => gateway.name === 'user') : undefined;
  const mail = createMail(platform, () => Object.assign({}, ...features.map((feature) => feature.mails)));
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

  const features: FeatureParts[] = [
    { routes: records.routes, encrypted: encryptedColumns(withArchives(compiled)) },
    push.parts,
    mail.parts,
    idempotencyParts(platform),
    { routes: openApiRoutes(settings, () => ({ ...openApiParts(features), resources: compiled, settings })) },
  ];
  const accounts =
    users && createAccounts(host, hasher, records.context, records.entities.get('user')!, users, push.tokenRule);
  const extensionHost = {
    ...host,
    accounts: accounts?.api,
    routes: () => routesOf(features),
    authenticators: () => features.flatMap((feature) => feature.authenticators ?? []),
    userData: () => userDataOf(features),
  };
  const wrong: string[] = [];
  const extensions = declared.extensions.map((extension) => {
    const { name } = extension;
    const jobs = createExtensionJobs(platform.queues, name);
    const given = extension.setup({ ...extensionHost, jobs: jobs.handout });
    if (!isParts(given))
      wrong.push(`extension "${name}": setup(host) must return an object of its parts, and no promise`);
    return { name, parts: isParts(given) ? given : {}, jobs };
  });
  if (accounts !== undefined) {
    const signIn = extensions.flatMap(({ parts }) => parts.signInStep ?? []);
    const revocation = extensions.flatMap(({ parts }) => parts.revocationStep ?? []);
    const confirm = extensions.flatMap(({ parts }) => parts.confirmStep ?? []);
    features.push(accounts.feature({ signIn, revocation, confirm }));
  }
  const core = routesOf(features);
  wrong.push(
    ...featureRouteMistakes(
      extensions.map(({ name, parts }) => ({ name, routes: parts.routes ?? [] })),
      core,
    ),
    ...pageMistakes(
      extensions.map(({ name, parts }) => ({ name, routes: parts.pages ?? [] })),
      features.flatMap((feature) => feature.pages ?? []),
    ),
    ...extensions.flatMap(({ name, parts }) => jobMistakes(name, parts.jobs)),
    ...mailMistakes(extensions, features),
    ...apiMistakes(extensions, declared.members ?? {}),
  );
  features.push(...extensions.map(({ parts }) => parts));
  wrong.push(...operationIdMistakes(routesOf(features)), ...features.flatMap((feature) => feature.mistakes?.() ?? []));
  if (wrong.length > 0) throw new StartupError('The declarations are wrong:', wrong);
  features.push(...extensions.flatMap(({ parts, jobs }) => jobs.features(parts.jobs)));
  const apis = extensions.flatMap(({ name, parts: { api } }) => (api === undefined ? [] : [{ name, api }]));
  for (const { listeners = {} } of features) {
    for (const [name, handler] of Object.entries(listeners)) platform.events.on(name, handler);
  }
  const tables = { ...own, ...resourceTables(compiled) };
  const about = declaredTables(
    withArchives(compiled),
    declared.extensions.flatMap((extension) => extension.statements ?? []),
  );
  const ready = () => withPostgres(platform, () => checkSchema(platform.database, tables));
  return {
    platform,
    host,
    records,
    push,
    mail,
    encryption: createEncryption(
      platform,
      features.flatMap((feature) => feature.encrypted ?? []),
      ready,
    ),
    administration: accounts && { ...accounts.administration, ready },
    features,
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
