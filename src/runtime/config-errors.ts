import semver from 'semver';
import { z } from 'zod';
import about from '../../package.json' with { type: 'json' };
import { type Extension, type FeatureParts, type Job, ROLES } from '../declare/extension.ts';
import type { AnyResource } from '../declare/resource.ts';
import type { Route } from '../declare/route.ts';
import type { ConfigErrors } from '../platform/config/config-errors.ts';
import { knownNames } from '../platform/config/did-you-mean.ts';
import type { MailComposer } from '../platform/mail/worker.ts';
import { getTableConfig, isTable } from '../platform/postgres/drizzle.ts';
import { MAX_IDENTIFIER_BYTES, primaryKeyName } from '../platform/postgres/identifiers.ts';
import { type ExtensionOptions, isOwnOption } from '../records/configuration/declaration-shape.ts';
import { pathAndTableOf } from '../records/configuration/option-errors.ts';
import { archiveNames } from '../records/schema/table-names.ts';
import { keptNames, overlongNames } from './migrations/relation-names.ts';
import { documentedRoutes, operationIdOf } from './openapi/documented-routes.ts';

/** The running version of Belfry. */
export const VERSION: string = about.version;

const OPTIONS = ['resources', 'extensions', 'settings', 'transports', 'listeners'];
const LISTS = ['resources', 'extensions'];
/** The characters allowed in the parts of a queue name: BullMQ refuses a colon, and a slash separates extension and job. */
const QUEUE_PART = /^[^:/]+$/;
const OPERATION_ID = /^[a-z][A-Za-z0-9]*$/;

/** The parts of an extension. */
interface ExtensionParts {
  name: string;
  parts: FeatureParts;
}

function isNamed(part: unknown): boolean {
  return typeof (part as { name?: unknown } | null | undefined)?.name === 'string';
}

/** Returns the type of a value in words: `a string`, `null`. */
function typeText(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}

function isObject(part: unknown): boolean {
  return (typeof part === 'object' && part !== null) || typeof part === 'function';
}

/**
 * Checks the options of `createApp`.
 *
 * @returns whether they are complete enough to check the declarations in them
 */
export function checkAppOptions(options: object, errors: ConfigErrors): boolean {
  const given = options as Record<string, unknown>;
  for (const name of Object.keys(given)) {
    if (!OPTIONS.includes(name))
      errors.report(`"${name}" is not an option of createApp${knownNames(name, 'options', OPTIONS)}`);
  }
  if (!['undefined', 'function'].includes(typeof given.listeners)) errors.at('listeners').report('must be a function');
  const notLists = LISTS.filter((name) => !Array.isArray(given[name] ?? (name === 'resources' ? undefined : [])));
  for (const name of notLists) errors.at(name).report('must be a list');
  if (typeof given.transports !== 'function' && !Array.isArray(given.transports ?? [])) {
    errors
      .at('transports')
      .report('must be a list, or a function that receives the default transports and returns a list');
    return false;
  }
  if (notLists.length > 0) return false;
  const areNamed = (given.resources as unknown[]).every(isNamed);
  if (!areNamed) errors.at('resources').report('each is made with defineResource or defineUser');
  const invalid = [...((given.extensions ?? []) as unknown[]).entries()].filter(([, one]) => !isObject(one));
  // Name the type and not the value, which may be a secret.
  for (const [i, one] of invalid)
    errors.at(`extensions[${i}]`).report(`must be an extension made with defineExtension, and is ${typeText(one)}`);
  return areNamed && invalid.length === 0;
}

function checkVersion({ name, requires }: Extension, errors: ConfigErrors): void {
  if (requires === undefined) return;
  if (semver.validRange(requires) === null)
    errors.at(`extension "${name}": requires`).report(`"${requires}" is not a range of versions, like ">=${VERSION}"`);
  // A pre-release of the required version counts as having what the extension needs.
  else if (!semver.satisfies(VERSION, requires, { includePrerelease: true }))
    errors.report(`extension "${name}" needs Belfry ${requires}; this is ${VERSION}`);
}

function checkResourceOptions({ name, resourceOptions }: Extension, errors: ConfigErrors): void {
  for (const [option, schema] of Object.entries(resourceOptions ?? {})) {
    const at = errors.at(`extension "${name}": resourceOptions: "${option}"`);
    if (isOwnOption(option)) at.report('every resource has this option; rename it');
    else if (!(schema instanceof z.ZodType)) at.report('it needs a zod schema, as { retention: z.number() }');
  }
}

/** The resource options that extensions add. */
export function resourceOptionsOf(extensions: readonly Extension[]): ExtensionOptions {
  const options = extensions
    .flatMap(({ resourceOptions }) => Object.entries(resourceOptions ?? {}))
    .filter(([, schema]) => schema instanceof z.ZodType);
  const schemas = Map.groupBy(options, ([name]) => name);
  return new Map([...schemas].map(([name, same]) => [name, same.map(([, schema]) => schema)]));
}

/** Checks extensions and their settings before any of them is set up. */
export function checkExtensions(extensions: readonly Extension[], errors: ConfigErrors): void {
  for (const extension of extensions) {
    const { name, setup } = extension;
    if (typeof name !== 'string' || name === '' || typeof setup !== 'function')
      errors.at(`extension "${name}"`).report('it needs a name and a function setup(host)');
    checkVersion(extension, errors);
    checkResourceOptions(extension, errors);
  }
  const names = extensions.map(({ name }) => name);
  for (const [i, name] of names.entries()) {
    if (names.indexOf(name) !== i) errors.report(`extension "${name}" is installed twice`);
  }
  for (const extension of extensions) extension.checkConfig?.(errors);
}

/** The owner of a name in the schema: an extension, or a description in words. */
type Holder = Extension | string;

function reportTaken(extension: Extension, table: string, name: string, holder: Holder, errors: ConfigErrors): void {
  const at = errors.at(`extension "${extension.name}": table "${table}"`);
  if (typeof holder === 'string') at.report(`"${name}" is ${holder}; rename it`);
  else if (holder === extension) at.report(`"${name}" is there twice; rename one`);
  // An extension that is installed twice is reported separately.
  else if (holder.name !== extension.name) {
    const what = name === table ? 'table' : 'index or key';
    errors
      .at(`${what} "${name}"`)
      .report(`two extensions have it, "${holder.name}" and "${extension.name}"; rename one`);
  }
}

/** The schema names used by Belfry's own tables and by resources, each with its owner. */
function namesInSchema(resources: readonly AnyResource[], core: ReadonlySet<string>): Map<string, Holder> {
  const holders = new Map<string, Holder>(
    [...core].map((name) => [name, "a table, an index or a key of Belfry's own"]),
  );
  for (const resource of resources) {
    const { table } = pathAndTableOf(resource);
    holders.set(primaryKeyName(table), `the primary key of the resource "${resource.name}"`);
    if (!resource.softDelete) continue;
    const [archive, ...parts] = archiveNames(table);
    holders.set(archive!, `where the deleted records of "${resource.name}" are`);
    for (const part of parts) holders.set(part, `an index or a key of the deleted records of "${resource.name}"`);
  }
  return holders;
}

/**
 * Checks that the tables of extensions are tables, and that their names are not used elsewhere in the schema. A table with the name of a
 * resource's table is reported with the resource.
 *
 * @param core the names of Belfry's own tables
 */
export function checkTables(
  extensions: readonly Extension[],
  resources: readonly AnyResource[],
  core: ReadonlySet<string>,
  errors: ConfigErrors,
): void {
  const holders = namesInSchema(resources, core);
  const ofResources = new Set(resources.map((resource) => pathAndTableOf(resource).table));
  for (const extension of extensions) {
    const at = (table: string) => errors.at(`extension "${extension.name}": table "${table}"`);
    for (const [key, table] of Object.entries(extension.tables ?? {})) {
      if (!isTable(table)) {
        at(key).report("it is not a table; make it with drizzle's pgTable");
        continue;
      }
      const { name } = getTableConfig(table);
      for (const long of overlongNames(table)) {
        at(name).report(
          `the name "${long}" has ${Buffer.byteLength(long)} bytes, and Postgres truncates names at ${MAX_IDENTIFIER_BYTES}; give a shorter one`,
        );
      }
      const names = keptNames(table);
      const taken = ofResources.has(name) ? undefined : names.find((one) => holders.has(one));
      if (taken !== undefined) reportTaken(extension, name, taken, holders.get(taken)!, errors);
      for (const one of names) if (!holders.has(one)) holders.set(one, extension);
    }
  }
}

/** The e-mail and password fields of the user resource, with which accounts sign in; undefined if it does not declare both. */
export function accountFields(resources: readonly AnyResource[]) {
  const { email, password } = resources.find((resource) => resource.name === 'user')?.fields ?? {};
  return email && password && { email: email.spec, password: password.spec };
}

/** Checks the fields with which accounts sign in. */
export function checkAccountFields(resources: readonly AnyResource[], errors: ConfigErrors): void {
  const fields = accountFields(resources);
  if (fields === undefined) return;
  const at = (name: string) => errors.at(`resource "user": field "${name}"`);
  for (const name of ['email', 'password'] as const) {
    const { kind } = fields[name].type;
    if (kind !== name)
      at(name).report(
        `accounts sign in by it, and its type is ${kind}; declare it with f.${name}(), or set settings.auth.enabled to false`,
      );
  }
  if (fields.email.type.kind === 'email' && !fields.email.unique)
    at('email').report('accounts sign in by it; add unique()');
}

/** Whether `setup` returned parts. A promise does not count: it would be read as an extension without parts. */
export function isParts(returned: unknown): returned is FeatureParts {
  return typeof returned === 'object' && returned !== null && !Array.isArray(returned) && !('then' in returned);
}

function checkJob(job: Partial<Job> | null | undefined, errors: ConfigErrors): void {
  if (typeof job?.run !== 'function') {
    errors.report('it needs a function run(id)');
    return;
  }
  const { role, concurrency, attempts } = job;
  if (role !== undefined && !ROLES.includes(role))
    errors.at('role').report(`"${role}" is none that a process plays; roles: ${ROLES.join(', ')}`);
  for (const [name, value] of Object.entries({ concurrency, attempts })) {
    if (value !== undefined && !(Number.isInteger(value) && value > 0))
      errors.at(name).report('must be a whole number from 1');
  }
}

/** Checks the jobs of an extension for names that no queue accepts, and for roles that no process has. */
export function checkJobs({ name, parts }: ExtensionParts, errors: ConfigErrors): void {
  const at = errors.at(`extension "${name}"`);
  const jobs = Object.entries(parts.jobs ?? {});
  if (jobs.length > 0 && !QUEUE_PART.test(name))
    at.report('its name is part of those of its queues, which have no : and no /; rename it');
  for (const [job, declared] of jobs) {
    const inJob = at.at(`job "${job}"`);
    if (!QUEUE_PART.test(job)) inJob.report('its name is part of that of a queue, which has no : and no /; rename it');
    checkJob(declared, inJob);
  }
}

/**
 * Merges the e-mails of all features, and reports kinds that two of them define.
 *
 * @param core the e-mails of Belfry itself
 */
export function mailsOf(
  extensions: readonly ExtensionParts[],
  core: NonNullable<FeatureParts['mails']>,
  errors: ConfigErrors,
): Record<string, MailComposer> {
  const mails = { ...core };
  const makers = new Map(Object.keys(core).map((kind) => [kind, 'Belfry']));
  for (const { name, parts } of extensions) {
    for (const [kind, composer] of Object.entries(parts.mails ?? {})) {
      const maker = makers.get(kind);
      if (maker !== undefined)
        errors.at(`extension "${name}": mail "${kind}"`).report(`${maker} makes it already; rename it`);
      makers.set(kind, `extension "${name}"`);
      mails[kind] = composer;
    }
  }
  return mails;
}

/**
 * Reports extensions whose `api` would replace a member of the app, or one that every object has.
 *
 * @param members the members of the app, by name
 */
export function checkApis(extensions: readonly ExtensionParts[], members: object, errors: ConfigErrors): void {
  for (const { name, parts } of extensions) {
    // `await` would wait forever for an app with a `then` member.
    if (parts.api !== undefined && (name in members || name === 'then'))
      errors.at(`extension "${name}"`).report(`its api would stand in place of app.${name}; rename it`);
  }
}

/** Checks the operationIds of all routes in the OpenAPI document. */
export function checkOperationIds(routes: readonly Route[], errors: ConfigErrors): void {
  const place = (route: Route) => `route ${route.method} ${route.path}`;
  const shown = documentedRoutes(routes);
  for (const route of shown) {
    if (route.operationId !== undefined && !OPERATION_ID.test(route.operationId))
      errors.at(place(route)).report(`operationId "${route.operationId}" must look like publishPost`);
  }
  for (const [id, same] of Map.groupBy(shown, operationIdOf)) {
    if (same.length > 1)
      errors.report(`${same.map(place).join(' and ')} share the operationId "${id}"; set operationId on one of them`);
  }
}
