import { isDeepStrictEqual } from 'node:util';
import { type Change, createReporter } from '../change.ts';
import { asObject, compareNames, type Json } from './json.ts';
import { compareOperations, type OperationContext, type OperationPlace } from './operations.ts';
import { createSchemaComparer } from './schemas/compare.ts';

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
const PATH_DOCUMENTATION = ['summary', 'description'];

/** The operations of `paths` by method and path: `GET /api/posts`. Parameters of a path belong to each of its operations. */
function operationsOf(document: Json): Record<string, Json> {
  const paths = Object.entries(asObject(document.paths));
  return Object.fromEntries(
    paths.flatMap(([path, item]) => {
      const { parameters = [], ...rest } = asObject(item);
      const common = Object.entries(rest).filter(
        ([name]) => !METHODS.includes(name) && !PATH_DOCUMENTATION.includes(name),
      );
      return METHODS.filter((method) => rest[method] !== undefined).map((method) => {
        const operation = asObject(rest[method]);
        const own = (operation.parameters as unknown[] | undefined) ?? [];
        const all = [...(parameters as unknown[]), ...own];
        const merged = { ...Object.fromEntries(common), ...operation, ...(all.length > 0 ? { parameters: all } : {}) };
        return [`${method.toUpperCase()} ${path}`, merged];
      });
    }),
  );
}

/** The requests that the server sends, by event: `webhook post.created`. */
function webhooksOf(document: Json): Record<string, Json> {
  const events = Object.entries(asObject(document.webhooks));
  return Object.fromEntries(events.map(([name, item]) => [`webhook ${name}`, asObject(asObject(item).post)]));
}

function compareAll(
  before: Record<string, Json>,
  after: Record<string, Json>,
  context: OperationContext,
  placeOf: (key: string) => OperationPlace,
): void {
  const { removed, added, kept } = compareNames(before, after);
  const reporterOf = (key: string) => createReporter(context.changes, key, placeOf(key).names);
  for (const key of removed) reporterOf(key).breaking('removed');
  for (const key of added) reporterOf(key).compatible('new');
  for (const key of kept) compareOperations(before[key]!, after[key]!, placeOf(key), context);
}

/** Compares what is named in `components`: generated clients use the names of schemas, and a security scheme is part of every request. */
function compareComponents(before: Json, after: Json, changes: Change[]): void {
  const [old, current] = [asObject(before.components), asObject(after.components)];
  const schemas = compareNames(asObject(old.schemas), asObject(current.schemas));
  for (const name of schemas.removed)
    createReporter(changes, `schema ${name}`, [name]).breaking('removed: generated clients use its name');
  for (const name of schemas.added) createReporter(changes, `schema ${name}`, [name]).compatible('new');
  const [oldSchemes, newSchemes] = [asObject(old.securitySchemes), asObject(current.securitySchemes)];
  const schemes = compareNames(oldSchemes, newSchemes);
  const withoutText = (scheme: unknown) => ({ ...asObject(scheme), description: undefined, bearerFormat: undefined });
  for (const name of schemes.removed) createReporter(changes, `security scheme ${name}`, [name]).breaking('removed');
  for (const name of schemes.added) createReporter(changes, `security scheme ${name}`, [name]).compatible('new');
  for (const name of schemes.kept)
    if (!isDeepStrictEqual(withoutText(oldSchemes[name]), withoutText(newSchemes[name])))
      createReporter(changes, `security scheme ${name}`, [name]).breaking('changed');
}

/**
 * Compares two OpenAPI 3.1 documents. A change is breaking if a client that was written for the earlier document may fail with the later
 * one.
 *
 * @returns the changes, without those of descriptions, examples and order; if only these changed, one change that says so
 */
export function compareDocuments(before: Json, after: Json): Change[] {
  const changes: Change[] = [];
  const compareSchemas = createSchemaComparer(before, after, changes);
  const context = { before, after, compareSchemas, changes };
  const document = createReporter(changes, 'document', ['openapi.json']);
  if (!isDeepStrictEqual(before.servers, after.servers)) document.breaking('servers changed');
  compareAll(operationsOf(before), operationsOf(after), context, (key) => ({
    place: key,
    names: [key, key.split(' ')[1]!],
    sent: 'requests',
  }));
  compareAll(webhooksOf(before), webhooksOf(after), context, (key) => ({
    place: key,
    names: [key.split(' ')[1]!],
    sent: 'responses',
  }));
  compareComponents(before, after, changes);
  if (changes.length === 0 && !isDeepStrictEqual(before, after))
    document.compatible('only descriptions, examples or the order changed');
  return changes;
}
