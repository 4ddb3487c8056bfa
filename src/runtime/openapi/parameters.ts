import { describeDeprecation } from '../../declare/deprecation.ts';
import type { Route } from '../../declare/route.ts';
import type { CountMode, Operator } from '../../declare/service.ts';
import { fieldJsonSchema } from '../../records/fields/field-type.ts';
import { isFilterable, LIST_OPERATORS, MAX_LIST_VALUES, MAX_SEARCH_LENGTH } from '../../records/query/filter.ts';
import { type GetResource, listIncludablePaths, MAX_LEVELS, MAX_PATHS } from '../../records/query/include.ts';
import { COUNT_MODES, defaultCountMode, MAX_PAGES, selectableFields } from '../../records/query/parse.ts';
import { relationsFor } from '../../records/query/paths.ts';
import { fieldsSortableBySomeClient, MAX_SORT_TERMS } from '../../records/query/sort.ts';
import type { CompiledField, CompiledResource } from '../../records/schema/compiled.ts';
import { clientVisibleReverseRelations, findIncludedRelation } from '../../records/schema/relations.ts';
import { hasEntityTag, isItemPath } from '../http/endpoint/route-traits.ts';
import type { Components } from './schema.ts';
import { ID_SCHEMA, type Json } from './schema.ts';
import { shapeSchema } from './shape.ts';

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'Requests with the same key and body within a day are carried out once and get the same response.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};
const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  description: 'Entity tags, or `*`: the change is made only if the record still has one of these versions.',
  schema: { type: 'string' },
};
const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  description: 'Entity tags of cached responses. If the response has not changed, you get a 304 without a body.',
  schema: { type: 'string' },
};

/** Whether a route changes one record. `If-Match` can then guard the change. */
function acceptsIfMatch(route: Route): boolean {
  return route.method !== 'GET' && route.resource !== undefined && isItemPath(route.path);
}

/** Whether the response of a route can be a 304. */
export function canReturnNotModified(route: Route): boolean {
  return (
    route.method === 'GET' && hasEntityTag(route) && !route.eventStream && !route.pending && route.file === undefined
  );
}

/**
 * The parameters of a path in the document. `{id}` in a resource's route is the id of a record.
 *
 * @param path `/api/posts/{id}`
 */
export function createPathParameters(path: string, resource: CompiledResource | undefined): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    const isRecord = name === 'id' && resource !== undefined;
    return {
      name,
      in: 'path',
      required: true,
      ...(isRecord ? { description: `The id of a ${resource.name}.` } : {}),
      schema: isRecord ? ID_SCHEMA : { type: 'string', minLength: 1 },
    };
  });
}

/** Creates the query parameters from the query schema that a route declares. */
export function createDeclaredQueryParameters(route: Route, name: string, components: Components): Json[] {
  const shape = route.query ?? route.queryShape;
  if (shape === undefined) return [];
  const { properties = {}, required = [] } = shapeSchema(shape, 'input', name, components);
  return Object.entries(properties as Record<string, Json>).map(([parameter, { description, ...schema }]) => ({
    name: parameter,
    in: 'query',
    ...((required as string[]).includes(parameter) ? { required: true } : {}),
    ...(description === undefined ? {} : { description }),
    schema,
  }));
}

/** Creates the parameters of a route for the conditional headers and `Idempotency-Key`, and adds their components to the document. */
export function addConditionalAndIdempotencyHeaders(route: Route, components: Components): Json[] {
  const addParameterReference = (name: string, parameter: Json) => components.addPart('parameters', name, parameter);
  return [
    ...(canReturnNotModified(route) ? [addParameterReference('IfNoneMatch', IF_NONE_MATCH)] : []),
    ...(acceptsIfMatch(route) ? [addParameterReference('IfMatch', IF_MATCH)] : []),
    ...(route.idempotent ? [addParameterReference('IdempotencyKey', IDEMPOTENCY_KEY)] : []),
  ];
}

interface Pagination {
  defaultLimit: number;
  maxLimit: number;
  count: CountMode;
}

/** Maximum number of values that the document lists for a parameter. If there are more, it gives some as examples. */
export const MAX_LISTED = 60;

const OPERATOR_TEXT: Record<Operator, string> = {
  eq: 'equals the value',
  ne: 'does not equal the value, or is not set',
  gt: 'is greater than the value',
  gte: 'is greater than or equal to the value',
  lt: 'is less than the value',
  lte: 'is less than or equal to the value',
  in: 'is one of the values',
  nin: 'is none of the values, or is not set',
  all: 'contains all of the values',
  exists: 'is set (`true`) or not set (`false`)',
};

/** Creates a query parameter. */
export function createQueryParameter(name: string, description: string, schema: Json): Json {
  return { name, in: 'query', description, schema };
}

/** Creates a query parameter that accepts several values, separated by commas. */
export function createCommaListParameter(name: string, description: string, items: Json, bounds: Json): Json {
  return {
    ...createQueryParameter(name, description, { type: 'array', items, minItems: 1, ...bounds }),
    style: 'form',
    explode: false,
  };
}

/** The schema of a value that a field is compared with: the field's type, without the limits for stored values. */
function comparisonValueSchema({ spec }: CompiledField): Json {
  const { type, values, target } = spec.inner?.spec ?? spec;
  const bare = { type, ...(values === undefined ? {} : { values }), ...(target === undefined ? {} : { target }) };
  return fieldJsonSchema(bare, 'query');
}

function createFilterParameters(field: CompiledField): Json[] {
  const { name, operators, spec } = field;
  const comparisonSchema = comparisonValueSchema(field);
  const { deprecated } = spec;
  const deprecationNote = deprecated === undefined ? '' : ` ${describeDeprecation(deprecated)}`;
  const visibilityNote = field.visibleTo === undefined ? '' : ' Matches only records in which you may see the field.';
  const createOperatorParameter = (parameterName: string, op: Operator): Json => {
    const meaning = spec.inner !== undefined && op === 'eq' ? 'contains the value' : OPERATOR_TEXT[op];
    const sameFilterNote = parameterName === `${name}[eq]` ? ` Equivalent to \`${name}\`; send only one of them.` : '';
    const text = `Records whose \`${name}\` ${meaning}.${visibilityNote}${sameFilterNote}${deprecationNote}`;
    if (op === 'exists') return createQueryParameter(parameterName, text, { type: 'boolean' });
    if (!LIST_OPERATORS.has(op)) return createQueryParameter(parameterName, text, comparisonSchema);
    // A value in a comma-separated list must not be empty or contain a comma, encoded or not.
    const item =
      comparisonSchema.type === 'string' && comparisonSchema.enum === undefined
        ? { pattern: '^[^,]+$', ...comparisonSchema }
        : comparisonSchema;
    return createCommaListParameter(parameterName, text, item, { maxItems: MAX_LIST_VALUES });
  };
  const parameters = [
    ...(operators.has('eq') ? [createOperatorParameter(name, 'eq')] : []),
    ...[...operators].map((op) => createOperatorParameter(`${name}[${op}]`, op)),
  ];
  return deprecated === undefined ? parameters : parameters.map((parameter) => ({ ...parameter, deprecated: true }));
}

/** Creates the parameters that filter by a field of a related record, for the relations of the resource itself. */
function createRelatedFilterParameters(resource: CompiledResource): Json[] {
  const parameters = relationsFor(resource, undefined).flatMap(({ name, kind, target }) => {
    const related = resource.getResource(target);
    const note =
      'Also takes operators in brackets, and longer paths. Only records that you may see count as related, and filters with the same path are about the same record.';
    const ofFields = related.fields
      .filter((field) => isFilterable(related, field.name) && field.operators.has('eq'))
      .map((field) => {
        const text = `Records with a related \`${name}\` whose \`${field.name}\` ${field.spec.inner === undefined ? OPERATOR_TEXT.eq : 'contains the value'}. ${note}`;
        return createQueryParameter(`${name}.${field.name}`, text, comparisonValueSchema(field));
      });
    if (kind !== 'reverse') return ofFields;
    const text = `Records that have (\`true\`) or do not have (\`false\`) related \`${name}\` that you may see.`;
    return [createQueryParameter(`${name}[exists]`, text, { type: 'boolean' }), ...ofFields];
  });
  return parameters.slice(0, MAX_LISTED);
}

/** The sortable fields of the referenced records: `author.name`. */
function sortableFieldsOfReferences(resource: CompiledResource): string[] {
  const references = relationsFor(resource, undefined).filter(
    ({ kind, field }) => kind === 'one' && field.visibleTo === undefined,
  );
  const paths = references.flatMap(({ name, target }) => {
    const related = resource.getResource(target);
    const visible = fieldsSortableBySomeClient(related).filter(
      (one) => related.field.get(one)?.visibleTo === undefined,
    );
    return visible.map((one) => `${name}.${one}`);
  });
  return paths.slice(0, MAX_LISTED);
}

/** The sentence that names the deprecated fields among the values of a parameter, with a space before it; empty if there are none. */
export function describeDeprecatedNames(names: readonly string[], resource: CompiledResource): string {
  const deprecated = names.filter((name) => resource.field.get(name)?.spec.deprecated !== undefined);
  return deprecated.length === 0 ? '' : ` Deprecated: ${deprecated.map((name) => `\`${name}\``).join(', ')}.`;
}

function createSortParameter(resource: CompiledResource): Json {
  const defaultOrder = resource.defaultSort
    .map(({ field, descending }) => (descending ? `-${field}` : field))
    .join(',');
  const names = fieldsSortableBySomeClient(resource);
  const text =
    `The fields to sort by; \`-\` before a field sorts in descending order. Default: \`${defaultOrder}\`.` +
    describeDeprecatedNames(names, resource);
  const values = [...names, ...sortableFieldsOfReferences(resource)].flatMap((name) => [name, `-${name}`]);
  return createCommaListParameter(
    'sort',
    text,
    { type: 'string', enum: values },
    { maxItems: MAX_SORT_TERMS, uniqueItems: true },
  );
}

/** Collects the include paths of a resource, shorter ones first, up to `MAX_LISTED`; `all`: whether these are all paths. */
function collectIncludePaths(resource: CompiledResource, getResource: GetResource): { paths: string[]; all: boolean } {
  let paths: string[] = [];
  for (let levels = 1; levels <= MAX_LEVELS; levels++) {
    const longer = listIncludablePaths(resource, getResource, levels);
    if (longer.length > MAX_LISTED) return { paths, all: false };
    paths = longer;
  }
  return { paths, all: true };
}

/** The sentence that names the include paths that contain a deprecated reference, with a space before it; empty if there are none. */
function describeDeprecatedPaths(
  paths: readonly string[],
  resource: CompiledResource,
  getResource: GetResource,
): string {
  const isDeprecated = (path: string) => {
    let source = resource;
    return path.split('.').some((name) => {
      const field = source.field.get(name);
      const target = field?.target ?? findIncludedRelation(source, name)!.relation.target;
      source = getResource(target);
      return field?.spec.deprecated !== undefined;
    });
  };
  const deprecated = paths.filter(isDeprecated);
  return deprecated.length === 0 ? '' : ` Deprecated: ${deprecated.map((path) => `\`${path}\``).join(', ')}.`;
}

function createIncludeParameters(resource: CompiledResource, getResource: GetResource): Json[] {
  const { paths, all } = collectIncludePaths(resource, getResource);
  if (all && paths.length === 0) return [];
  const text =
    'References to expand. A path joins up to three references with dots. References that you may not see stay ids.' +
    (clientVisibleReverseRelations(resource).length === 0
      ? ''
      : ' Also the records that refer to each record, and their number, as far as you may list them.') +
    (resource.populated.length === 0 ? '' : ` Always expanded: ${resource.populated.join(', ')}.`) +
    describeDeprecatedPaths(paths, resource, getResource);
  const items = all ? { type: 'string', enum: paths } : { type: 'string', examples: paths };
  return [createCommaListParameter('include', text, items, { maxItems: MAX_PATHS })];
}

function createFieldsParameter(resource: CompiledResource): Json {
  const names = selectableFields(resource);
  const text =
    'Returns a subset of each record: only these fields, and always `id`. The schema of the response describes the full record.' +
    describeDeprecatedNames(names, resource);
  return createCommaListParameter('fields', text, { type: 'string', enum: names }, {});
}

/** Creates the query parameters for reading one record. */
export function createReadParameters(resource: CompiledResource, getResource: GetResource): Json[] {
  return [createFieldsParameter(resource), ...createIncludeParameters(resource, getResource)];
}

function createCountParameter(initial: CountMode): Json {
  const description =
    'How to count the total. `exact`: all records. `capped`: up to 10,000, then `totalCapped` is true. `none`: no total. `capped` and ' +
    '`none` keep large lists fast.';
  return createQueryParameter('count', description, { type: 'string', enum: [...COUNT_MODES], default: initial });
}

function createSearchParameters(resource: CompiledResource): Json[] {
  const searched = resource.fields.filter((field) => field.spec.searchable && !field.secret).map(({ name }) => name);
  if (searched.length === 0) return [];
  const text = `Records that contain this text in ${searched.join(', ')}. The case of letters is ignored.`;
  return [createQueryParameter('q', text, { type: 'string', maxLength: MAX_SEARCH_LENGTH })];
}

function createDeletedParameters({ softDelete }: CompiledResource): Json[] {
  if (!softDelete) return [];
  const text =
    '`only`: deleted records. `with`: all records, deleted or not. Includes only deleted records that you may restore.';
  return [createQueryParameter('deleted', text, { type: 'string', enum: ['only', 'with'] })];
}

function createAllFilterParameters(resource: CompiledResource): Json[] {
  const ofFields = resource.fields
    .filter((field) => isFilterable(resource, field.name))
    .flatMap(createFilterParameters);
  return [...ofFields, ...createRelatedFilterParameters(resource)];
}

/** Creates the query parameters that select records. */
export function createSelectionParameters(resource: CompiledResource): Json[] {
  return [
    ...createAllFilterParameters(resource),
    ...createSearchParameters(resource),
    ...createDeletedParameters(resource),
  ];
}

/** Creates the query parameters of a resource's list. */
export function createListParameters(
  resource: CompiledResource,
  getResource: GetResource,
  pagination: Pagination,
): Json[] {
  const { defaultLimit, maxLimit } = pagination;
  const positiveInteger = (maximum: number, initial: number) => ({
    type: 'integer',
    minimum: 1,
    maximum,
    default: initial,
  });
  const after =
    'Continues after a page: pass the `meta.next` of that page. Cannot be combined with `page`; the response has no total.';
  return [
    ...createAllFilterParameters(resource),
    ...createSearchParameters(resource),
    ...(fieldsSortableBySomeClient(resource).length === 0 ? [] : [createSortParameter(resource)]),
    ...createReadParameters(resource, getResource),
    createQueryParameter('page', 'The page number, from 1.', positiveInteger(MAX_PAGES, 1)),
    createQueryParameter('limit', 'Records per page.', positiveInteger(maxLimit, Math.min(defaultLimit, maxLimit))),
    createQueryParameter('after', after, { type: 'string' }),
    ...createDeletedParameters(resource),
    ...(isFilterable(resource, 'count') ? [] : [createCountParameter(defaultCountMode(resource, pagination))]),
  ];
}
