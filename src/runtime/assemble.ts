import type { PgTable } from 'drizzle-orm/pg-core';
import type { Administration } from '../accounts/administration.ts';
import type { Sessions } from '../accounts/sessions/sessions.ts';
import type { BulkRecords } from '../declare/bulk.ts';
import type { FeatureParts } from '../declare/extension.ts';
import type { Host } from '../declare/host.ts';
import { createTrackingStatements, type Files } from '../files/index.ts';
import { createEncryption, type Encryption } from '../platform/data/crypto/encryption.ts';
import { ConfigErrors } from '../platform/helpers/config-errors.ts';
import type { Mail } from '../platform/mail/index.ts';
import type { Platform } from '../platform/platform.ts';
import type { Environment } from '../platform/settings/environment.ts';
import type { Settings } from '../platform/settings/settings.ts';
import type { Push } from '../push/index.ts';
import { type NormalizationOptions, normalizeTexts } from '../records/bulk/normalize-texts.ts';
import { createResourceTables, type Records, withArchives } from '../records/index.ts';
import { RANGE_STATEMENTS } from '../records/ranges/triggers.ts';
import { withMigrationClient, withPostgres } from './connections/connect.ts';
import { createCore, createPlatform } from './core.ts';
import { collectNonResourceTables, type Declarations } from './declarations.ts';
import { diagnose } from './diagnosis/diagnose.ts';
import { assertSchemaMatchesDeclarations } from './migrations/check-schema.ts';
import { isPoolerConfigured, setRoleSettings } from './migrations/direct-connection.ts';
import { type MigrateOptions, migrateDatabase } from './migrations/migrate.ts';
import { collectDeclaredFacts, type DeclaredFacts } from './migrations/plan/declared.ts';
import { setUpFeatures } from './set-up-features.ts';

/** The account commands of the command line. */
export interface AppAdministration extends Administration {
  /**
   * Connects to the database and checks that the app's tables exist.
   *
   * @throws StartupError if the database cannot be reached or lacks tables
   */
  ready(): Promise<void>;
}

/** Bulk access to records. */
export interface AppBulkRecords extends BulkRecords {
  /**
   * Connects to the database and checks that the app's tables exist.
   *
   * @throws StartupError if the database cannot be reached or lacks tables
   */
  ready(): Promise<void>;
  /** Stores the texts of existing records in NFC. */
  normalizeTexts(options?: NormalizationOptions): Promise<void>;
}

/** A whole app, assembled but not started. */
export interface AssembledApp {
  platform: Platform;
  host: Host;
  records: Records;
  files: Files;
  push: Push;
  mail: Mail;
  /** Undefined if the app has no accounts. */
  administration: AppAdministration | undefined;
  /** Starts a session for a user without a login, for tests. Undefined if the app has no accounts. */
  startSession: Sessions['startSession'] | undefined;
  encryption: Encryption;
  /** Bulk access to records, for the command line. */
  bulk: AppBulkRecords;
  /** The parts of core features and extensions, merged: core first, then extensions in order. */
  parts: FeatureParts;
  apis: readonly { name: string; api: object }[];
  /** Creates the OpenAPI document of the app, whether or not the app serves it. */
  createOpenApiDocument: () => Record<string, unknown>;
  /** Creates the AsyncAPI document of the app, whether or not the app serves it. */
  createAsyncApiDocument: () => Record<string, unknown>;
  tables: Record<string, PgTable>;
  /** Facts about the tables that migrations need, beyond the SQL of the tables. */
  declared: DeclaredFacts;
  migrate(options: MigrateOptions): Promise<void>;
  /** Closes all connections. */
  close(): Promise<void>;
}

/**
 * Assembles an app: platform, records, accounts, push, extensions. The declarations must have passed `checkDeclarations`.
 *
 * @returns undefined if the parts of extensions have errors, which are then reported
 */
export function assembleApp(
  declared: Declarations,
  env: Environment,
  settings: Settings,
  errors = new ConfigErrors(),
): AssembledApp | undefined {
  const platform = createPlatform(env, settings, declared);
  const core = createCore(declared, platform, () => features?.mails ?? {});
  const features = setUpFeatures(core, declared, errors, () =>
    diagnose({ platform, tables, files, declared: declaredFacts, parts }, {}),
  );
  if (features === undefined) return undefined;
  const { parts, apis, documents } = features;
  for (const [name, listener] of Object.entries(parts.listeners ?? {})) platform.events.on(name, listener);
  const { compiled, records, files, push, mail, host, accounts } = core;
  const otherTables = collectNonResourceTables(declared.extensions);
  const tables = { ...otherTables, ...createResourceTables(compiled) };
  const declaredFacts = collectDeclaredFacts(
    withArchives(compiled),
    [
      ...createTrackingStatements(compiled),
      ...RANGE_STATEMENTS,
      ...declared.extensions.flatMap(({ statements = [] }) => statements),
    ],
    otherTables,
  );
  const ready = () =>
    withPostgres(platform, () =>
      assertSchemaMatchesDeclarations(
        platform.database,
        { tables, declared: declaredFacts },
        env.nodeEnv === 'development',
      ),
    );
  return {
    platform,
    host,
    records,
    files,
    push,
    mail,
    encryption: createEncryption(platform, parts.encrypted ?? [], ready),
    startSession: accounts?.startSession,
    bulk: {
      ...host.bulk,
      ready,
      normalizeTexts: (options = {}) => normalizeTexts(platform.database, compiled, options),
    },
    administration: accounts && { ...accounts.administration, ready },
    parts,
    apis,
    createOpenApiDocument: documents.openApi,
    createAsyncApiDocument: documents.asyncApi,
    tables,
    declared: declaredFacts,
    migrate: (options) =>
      withMigrationClient(platform, async (client) => {
        await migrateDatabase(client, { tables, declared: declaredFacts }, options, platform.log);
        if (isPoolerConfigured(env)) await setRoleSettings(client, platform.log);
      }),
    async close() {
      const results = await Promise.allSettled([platform.queues.close()]);
      platform.replica?.close();
      await platform.logTail?.stop();
      const { redis, database, tracing } = platform;
      results.push(...(await Promise.allSettled([redis.close(), database.close(), tracing.stop()])));
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    },
  };
}
