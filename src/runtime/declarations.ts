import type { PgTable } from 'drizzle-orm/pg-core';
import { accountTables } from '../accounts/index.ts';
import type { Extension } from '../declare/extension.ts';
import type { Fields } from '../declare/field.ts';
import type { AnyResource } from '../declare/resource.ts';
import { fileTables } from '../files/index.ts';
import { type CompiledJobOptions, jobTables } from '../jobs/index.ts';
import { encryptionKeys, encryptionProcesses } from '../platform/data/crypto/tables.ts';
import { getTableConfig, isTable } from '../platform/data/postgres/drizzle.ts';
import type { ConfigErrors } from '../platform/helpers/config-errors.ts';
import type { LanguageOptions } from '../platform/languages/options.ts';
import { mailTables } from '../platform/mail/index.ts';
import type { MailOverrides } from '../platform/mail/texts/index.ts';
import type { Settings } from '../platform/settings/settings.ts';
import { outbox } from '../platform/work/outbox/table.ts';
import { pushTables, transportConfigErrors } from '../push/index.ts';
import type { Transport } from '../push/message/transport.ts';
import { checkResources } from '../records/configuration/find-errors.ts';
import { rangeTables } from '../records/ranges/tables.ts';
import { checkAccountFields, checkExtensions, checkExtensionTables, collectResourceOptions } from './config-errors.ts';
import { idempotencyTables } from './http/idempotency/index.ts';
import type { ProjectMail } from './mail-outlet.ts';
import { collectRelationNames } from './migrations/relation-names.ts';

/** The declarations of an app. */
export interface Declarations extends LanguageOptions {
  resources: readonly AnyResource[];
  extensions: readonly Extension[];
  transports: readonly Transport[];
  /** Texts that replace the texts of the built-in e-mails. */
  mailTexts?: MailOverrides | undefined;
  /** The e-mails of the project. */
  projectMails?: readonly ProjectMail[];
  /** The jobs and schedules of the project. */
  jobs?: CompiledJobOptions;
  /** The app's own members, by name: an extension must not replace them. */
  members?: object;
}

/** Belfry's own tables, by name, without the tables of extensions and resources. */
const CORE_TABLES: Record<string, PgTable> = {
  outbox,
  encryption_keys: encryptionKeys,
  encryption_processes: encryptionProcesses,
  ...idempotencyTables,
  ...accountTables,
  ...pushTables,
  ...mailTables,
  ...fileTables,
  ...jobTables,
  ...rangeTables,
};

/** The tables that do not belong to resources, by name. */
export function collectNonResourceTables(extensions: readonly Extension[]): Record<string, PgTable> {
  const extensionTables = extensions.flatMap(({ tables }) => Object.values(tables ?? {})).filter(isTable);
  return { ...CORE_TABLES, ...Object.fromEntries(extensionTables.map((table) => [getTableConfig(table).name, table])) };
}

/**
 * Returns the resources of an app: the project's own, and the resources that extensions add or change.
 *
 * @param errors receives the errors that extensions report
 */
export function collectResources(
  declared: readonly AnyResource[],
  extensions: readonly Extension[],
  errors: ConfigErrors,
): readonly AnyResource[] {
  return extensions.reduce((resources, extension) => extension.resources?.(resources, errors) ?? resources, declared);
}

/**
 * Returns the resources with the fields that extensions add to the user resource.
 *
 * @param errors receives the names that are declared twice
 */
export function addUserFields(
  resources: readonly AnyResource[],
  extensions: readonly Extension[],
  errors: ConfigErrors,
): readonly AnyResource[] {
  const user = resources.find((resource) => resource?.name === 'user');
  if (typeof user?.fields !== 'object' || user.fields === null) return resources;
  const fields: Fields = { ...user.fields };
  // Extensions that add the same fields share the function.
  const creators = new Map(extensions.flatMap(({ userFields, name }) => (userFields ? [[userFields, name]] : [])));
  for (const [createFields, name] of creators) {
    for (const [fieldName, field] of Object.entries(createFields(user))) {
      if (Object.hasOwn(fields, fieldName))
        errors
          .at(`resource "user": field "${fieldName}"`)
          .report(`the extension "${name}" adds a field of this name; rename yours`);
      else fields[fieldName] = field;
    }
  }
  return resources.map((resource) => (resource === user ? { ...user, fields } : resource));
}

/** Reports the errors in declarations that can be found before features are set up. */
export function checkDeclarations(
  { resources, extensions, transports }: Pick<Declarations, 'resources' | 'extensions' | 'transports'>,
  settings: Settings | undefined,
  errors: ConfigErrors,
): void {
  const taken = collectRelationNames(collectNonResourceTables(extensions));
  checkResources(resources, { taken, options: collectResourceOptions(extensions) }, errors);
  if (settings?.auth.enabled ?? true) checkAccountFields(resources, errors);
  checkExtensions(extensions, errors);
  checkExtensionTables(extensions, resources, collectRelationNames(CORE_TABLES), errors);
  for (const line of transportConfigErrors(transports)) errors.report(line);
}
