import semver from 'semver';
import { z } from 'zod';
import type { Extension, ExtensionJob, FeatureParts } from '../declare/extension.ts';
import { PROCESS_ROLES } from '../declare/process-role.ts';
import type { AnyResource } from '../declare/resource.ts';
import type { Route } from '../declare/route.ts';
import { getTableConfig, isTable } from '../platform/data/postgres/drizzle.ts';
import { MAX_IDENTIFIER_BYTES, primaryKeyName } from '../platform/data/postgres/identifiers.ts';
import { type ConfigErrors, describeType } from '../platform/helpers/config-errors.ts';
import { suggestKnownNames } from '../platform/helpers/did-you-mean.ts';
import { VERSION } from '../platform/helpers/version.ts';
import { checkLanguageOptions } from '../platform/languages/options.ts';
import { checkMailOverrides } from '../platform/mail/texts/index.ts';
import type { MailComposer } from '../platform/mail/worker.ts';
import { type ExtensionOptions, isBuiltInOption } from '../records/configuration/declaration-shape.ts';
import { pathAndTableOf } from '../records/configuration/option-errors.ts';
import { archiveRelationNames } from '../records/schema/table-names.ts';
import { collectRelationNamesOfTable, findOverlongNames } from './migrations/relation-names.ts';
import { operationIdOf, selectDocumentedRoutes } from './openapi/documented-routes.ts';

const OPTIONS = [
  ...['resources', 'extensions', 'settings', 'mails', 'mailTexts', 'jobs', 'schedules', 'transports', 'listeners'],
  ...['languages', 'messages'],
];
const LISTS = ['resources', 'extensions', 'mails', 'jobs', 'schedules'];
/** The characters allowed in the parts of a queue name: BullMQ refuses a colon, and a slash separates extension and job. */
const QUEUE_PART = /^[^:/]+$/;
const OPERATION_ID = /^[a-z][A-Za-z0-9]*$/;

/** An extension's name, and the parts that its `setup` returned. */
interface ExtensionParts {
  name: string;
  parts: FeatureParts;
}

function hasName(part: unknown): boolean {
  return typeof (part as { name?: unknown } | null | undefined)?.name === 'string';
}

function isObject(part: unknown): boolean {
  return (typeof part === 'object' && part !== null) || typeof part === 'function';
}

/**
 * Checks the options of `createApp`.
 *
 * @returns whether the options are complete enough to check the resources and extensions in them
 */
export function checkAppOptions(options: object, errors: ConfigErrors): boolean {
  const appOptions = options as Record<string, unknown>;
  for (const name of Object.keys(appOptions)) {
    if (!OPTIONS.includes(name))
      errors.report(`"${name}" is not an option of createApp${suggestKnownNames(name, 'options', OPTIONS)}`);
  }
  if (!['undefined', 'function'].includes(typeof appOptions.listeners))
    errors.at('listeners').report('must be a function');
  checkMailOverrides(appOptions.mailTexts, errors.at('mailTexts'));
  checkLanguageOptions(appOptions, errors);
  const notLists = LISTS.filter((name) => !Array.isArray(appOptions[name] ?? (name === 'resources' ? undefined : [])));
  for (const name of notLists)
    errors
      .at(name)
      .report(
        name === 'mails'
          ? 'must be a list of e-mails created with defineMail. To replace the texts of built-in e-mails, use mailTexts'
          : 'must be a list',
      );
  if (typeof appOptions.transports !== 'function' && !Array.isArray(appOptions.transports ?? [])) {
    errors
      .at('transports')
      .report('must be a list, or a function that receives the default transports and returns a list');
    return false;
  }
  if (notLists.length > 0) return false;
  const areNamed = (appOptions.resources as unknown[]).every(hasName);
  if (!areNamed) errors.at('resources').report('create each resource with defineResource or defineUser');
  const invalid = [...((appOptions.extensions ?? []) as unknown[]).entries()].filter(([, value]) => !isObject(value));
  // Name the type of the invalid extension, not its value, which may be a secret.
  for (const [i, value] of invalid)
    errors
      .at(`extensions[${i}]`)
      .report(`must be an extension created with defineExtension, not ${describeType(value)}`);
  return areNamed && invalid.length === 0;
}

function checkRequiredVersion({ name, requires }: Extension, errors: ConfigErrors): void {
  if (requires === undefined) return;
  if (semver.validRange(requires) === null)
    errors.at(`extension "${name}": requires`).report(`"${requires}" is not a version range, such as ">=${VERSION}"`);
  // A pre-release of the required version counts as that version.
  else if (!semver.satisfies(VERSION, requires, { includePrerelease: true }))
    errors.report(`extension "${name}" requires Belfry ${requires}, but this is ${VERSION}`);
}

function checkResourceOptions({ name, resourceOptions }: Extension, errors: ConfigErrors): void {
  for (const [option, schema] of Object.entries(resourceOptions ?? {})) {
    const at = errors.at(`extension "${name}": resourceOptions: "${option}"`);
    if (isBuiltInOption(option)) at.report('every resource already has this option. Rename it');
    else if (!(schema instanceof z.ZodType)) at.report('needs a zod schema, for example { retention: z.number() }');
  }
}

/** Returns the schemas of the resource options that extensions add, by option name. */
export function collectResourceOptions(extensions: readonly Extension[]): ExtensionOptions {
  const options = extensions
    .flatMap(({ resourceOptions }) => Object.entries(resourceOptions ?? {}))
    .filter(([, schema]) => schema instanceof z.ZodType);
  const schemas = Map.groupBy(options, ([name]) => name);
  return new Map([...schemas].map(([name, same]) => [name, same.map(([, schema]) => schema)]));
}

/** Checks extensions and their settings before any extension is set up. */
export function checkExtensions(extensions: readonly Extension[], errors: ConfigErrors): void {
  for (const extension of extensions) {
    const { name, setup } = extension;
    if (typeof name !== 'string' || name === '' || typeof setup !== 'function')
      errors.at(`extension "${name}"`).report('needs a name and a function setup(host)');
    checkRequiredVersion(extension, errors);
    checkResourceOptions(extension, errors);
  }
  const names = extensions.map(({ name }) => name);
  for (const [i, name] of names.entries()) {
    if (names.indexOf(name) !== i) errors.report(`extension "${name}" is installed twice`);
  }
  for (const extension of extensions) extension.checkConfig?.(errors);
}

/** The owner of a name in the schema: an extension, or a description in words. */
type NameOwner = Extension | string;

function reportTakenName(
  extension: Extension,
  table: string,
  name: string,
  owner: NameOwner,
  errors: ConfigErrors,
): void {
  const at = errors.at(`extension "${extension.name}": table "${table}"`);
  if (typeof owner === 'string') at.report(`"${name}" is ${owner}. Rename it`);
  else if (owner === extension) at.report(`"${name}" is declared twice. Rename one`);
  // `checkExtensions` reports an extension that is installed twice.
  else if (owner.name !== extension.name) {
    const what = name === table ? 'table' : 'index or key';
    errors
      .at(`${what} "${name}"`)
      .report(`the extensions "${owner.name}" and "${extension.name}" both declare it. Rename one`);
  }
}

/** Collects the relation names that Belfry's own tables and the resources use in the schema, each with its owner. */
function collectSchemaNames(resources: readonly AnyResource[], core: ReadonlySet<string>): Map<string, NameOwner> {
  const owners = new Map<string, NameOwner>(
    [...core].map((name) => [name, "a table, an index or a key of Belfry's own"]),
  );
  for (const resource of resources) {
    const { table } = pathAndTableOf(resource);
    owners.set(primaryKeyName(table), `the primary key of the resource "${resource.name}"`);
    if (!resource.softDelete) continue;
    const [archive, ...parts] = archiveRelationNames(table);
    owners.set(archive!, `the table of the deleted records of "${resource.name}"`);
    for (const part of parts) owners.set(part, `an index or a key of the deleted records of "${resource.name}"`);
  }
  return owners;
}

/**
 * Checks that the tables of extensions are tables, and that their names are not used elsewhere in the schema. A table with the name of a
 * resource's table is reported with the resource.
 *
 * @param core the names of Belfry's own tables
 */
export function checkExtensionTables(
  extensions: readonly Extension[],
  resources: readonly AnyResource[],
  core: ReadonlySet<string>,
  errors: ConfigErrors,
): void {
  const owners = collectSchemaNames(resources, core);
  const ofResources = new Set(resources.map((resource) => pathAndTableOf(resource).table));
  for (const extension of extensions) {
    const at = (table: string) => errors.at(`extension "${extension.name}": table "${table}"`);
    for (const [key, table] of Object.entries(extension.tables ?? {})) {
      if (!isTable(table)) {
        at(key).report("is not a table. Create it with drizzle's pgTable");
        continue;
      }
      const { name } = getTableConfig(table);
      for (const long of findOverlongNames(table)) {
        at(name).report(
          `the name "${long}" has ${Buffer.byteLength(long)} bytes, but Postgres truncates names to ${MAX_IDENTIFIER_BYTES}. Choose a shorter name`,
        );
      }
      const names = collectRelationNamesOfTable(table);
      const taken = ofResources.has(name) ? undefined : names.find((one) => owners.has(one));
      if (taken !== undefined) reportTakenName(extension, name, taken, owners.get(taken)!, errors);
      for (const one of names) if (!owners.has(one)) owners.set(one, extension);
    }
  }
}

/** Returns the e-mail and password fields of the user resource, which accounts sign in with; undefined unless both exist. */
export function findAccountFields(resources: readonly AnyResource[]) {
  const { email, password } = resources.find((resource) => resource.name === 'user')?.fields ?? {};
  return email && password && { email: email.spec, password: password.spec };
}

/** Checks the type and uniqueness of the e-mail and password fields. */
export function checkAccountFields(resources: readonly AnyResource[], errors: ConfigErrors): void {
  const fields = findAccountFields(resources);
  if (fields === undefined) return;
  const at = (name: string) => errors.at(`resource "user": field "${name}"`);
  for (const name of ['email', 'password'] as const) {
    const { kind } = fields[name].type;
    if (kind !== name)
      at(name).report(
        `accounts sign in with it, but its type is ${kind}. Declare it with f.${name}(), or set settings.auth.enabled to false`,
      );
  }
  if (fields.email.type.kind === 'email' && !fields.email.unique)
    at('email').report('accounts sign in with it. Add unique()');
}

/** Whether `setup` of an extension returned parts. A promise does not count: it would pass for parts without any content. */
export function isFeatureParts(returned: unknown): returned is FeatureParts {
  return typeof returned === 'object' && returned !== null && !Array.isArray(returned) && !('then' in returned);
}

function reportJobErrors(job: Partial<ExtensionJob> | null | undefined, errors: ConfigErrors): void {
  if (typeof job?.run !== 'function') {
    errors.report('needs a function run(id)');
    return;
  }
  const { role, concurrency, attempts } = job;
  if (role !== undefined && !PROCESS_ROLES.includes(role))
    errors.at('role').report(`"${role}" is not a role. Roles: ${PROCESS_ROLES.join(', ')}`);
  for (const [name, value] of Object.entries({ concurrency, attempts })) {
    if (value !== undefined && !(Number.isInteger(value) && value > 0))
      errors.at(name).report('must be a whole number from 1');
  }
}

/** Reports wrong jobs of an extension: names that no queue accepts, roles that no process has, and wrong numbers or types. */
export function checkExtensionJobs({ name, parts }: ExtensionParts, errors: ConfigErrors): void {
  const at = errors.at(`extension "${name}"`);
  const jobs = Object.entries(parts.jobs ?? {});
  if (jobs.length > 0 && !QUEUE_PART.test(name))
    at.report('its name is part of queue names, which must not contain : or /. Rename it');
  for (const [job, declared] of jobs) {
    const inJob = at.at(`job "${job}"`);
    if (!QUEUE_PART.test(job))
      inJob.report('its name is part of a queue name, which must not contain : or /. Rename it');
    reportJobErrors(declared, inJob);
  }
}

/**
 * Merges the e-mail composers of all features by kind, and reports kinds that two features define.
 *
 * @param core the composers of Belfry itself
 */
export function mergeMailComposers(
  extensions: readonly ExtensionParts[],
  core: NonNullable<FeatureParts['mails']>,
  errors: ConfigErrors,
): Record<string, MailComposer> {
  const mails = { ...core };
  const definedBy = new Map(Object.keys(core).map((kind) => [kind, 'Belfry']));
  for (const { name, parts } of extensions) {
    for (const [kind, composer] of Object.entries(parts.mails ?? {})) {
      const definer = definedBy.get(kind);
      if (definer !== undefined)
        errors.at(`extension "${name}": mail "${kind}"`).report(`${definer} already defines it. Rename one`);
      definedBy.set(kind, `extension "${name}"`);
      mails[kind] = composer;
    }
  }
  return mails;
}

/**
 * Reports extensions whose `api` would replace a member of the app or a member that every object has.
 *
 * @param members the members of the app, by name
 */
export function checkExtensionApis(extensions: readonly ExtensionParts[], members: object, errors: ConfigErrors): void {
  for (const { name, parts } of extensions) {
    // `await` would wait forever for an app with a `then` member.
    if (parts.api !== undefined && (name in members || name === 'then'))
      errors.at(`extension "${name}"`).report(`its api would replace app.${name}. Rename the extension`);
  }
}

/** Checks the operationIds of all routes in the OpenAPI document. */
export function checkOperationIds(routes: readonly Route[], errors: ConfigErrors): void {
  const describeRoute = (route: Route) => `route ${route.method} ${route.path}`;
  const shown = selectDocumentedRoutes(routes);
  for (const route of shown) {
    if (route.operationId !== undefined && !OPERATION_ID.test(route.operationId))
      errors.at(describeRoute(route)).report(`operationId "${route.operationId}" must look like publishPost`);
  }
  for (const [id, same] of Map.groupBy(shown, operationIdOf)) {
    if (same.length > 1)
      errors.report(
        `${same.map(describeRoute).join(' and ')} share the operationId "${id}"; set operationId on one of them`,
      );
  }
}
