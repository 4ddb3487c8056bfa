import { declaredConstraints } from '../../declare/constraint.ts';
import type { AnyField, FieldSpec, Fields } from '../../declare/field.ts';
import type { StoredFile } from '../../declare/file.ts';
import { pluralName, snakeCase } from '../../declare/naming.ts';
import { allowsNobody, compilePolicy, type Policy } from '../../declare/policy.ts';
import { ACTIONS, type Action, type AnyResource } from '../../declare/resource.ts';
import { rethrow } from '../../rules/allows-action.ts';
import { columnTypeOf, fieldSchema, fieldTypeOf, isTextTooLongForIndex } from '../fields/field-type.ts';
import { isPersonalField } from '../fields/personal-data.ts';
import { MAX_INDEXED_BYTES, maxBytesInIndex } from '../fields/text-rules.ts';
import { findFileRules } from '../fields/types/file.ts';
import type { CompiledField, CompiledResource, SortTerm } from './compiled.ts';
import { defaultOrderIndexTerms, withIndexes } from './indexes.ts';
import { compileRelations } from './relations.ts';
import type { ReportRuleError } from './rule-errors.ts';

/**
 * Whether a field, or a field nested in it, has custom rules of one kind: `checks` from `check()`, `standard` from `schema()`, or `content`
 * from `json(schema)`.
 */
function hasCustomRulesOfKind(spec: FieldSpec, property: 'checks' | 'standard' | 'content'): boolean {
  if (spec[property] !== undefined) return true;
  if (spec.inner !== undefined) return hasCustomRulesOfKind(spec.inner.spec, property);
  return Object.values(spec.shape ?? {}).some((field) => hasCustomRulesOfKind(field.spec, property));
}

/**
 * Maximum bytes of a field's value that fit into the indexes declared by the options `indexes` and `constraints`. Undefined if the field is
 * in none of them.
 */
function maxBytesInDeclaredIndexes(resource: AnyResource, name: string): number | undefined {
  const specOfIndexTerm = (term: string) => (resource.fields as Fields)[term.replace(/^-/, '')]?.spec;
  const unique = declaredConstraints(resource).flatMap((one) => (one.kind === 'unique' ? [one.fields] : []));
  const terms = [...(resource.indexes ?? []).map(({ fields }) => fields), ...unique];
  const lists = terms.map((fields) => fields.map(specOfIndexTerm));
  const spec = specOfIndexTerm(name);
  const rooms = lists
    .filter((specs) => specs.includes(spec))
    .map((specs) => Math.floor(MAX_INDEXED_BYTES / specs.filter((one) => one !== undefined).length));
  return rooms.length === 0 ? undefined : Math.min(...rooms);
}

/** Converts the metadata of a file to the value in responses. */
export type SerializeFile = (file: StoredFile) => unknown;

function compileField(
  name: string,
  field: AnyField,
  {
    unknownFields,
    maxBytes,
    serializeFile,
  }: { unknownFields: 'reject' | 'strip'; maxBytes: number | undefined; serializeFile: SerializeFile },
): CompiledField {
  const { spec } = field;
  const type = fieldTypeOf(spec);
  const operators = spec.filterable === true ? type.operators : (spec.filterable ?? []);
  const compileOptionalPolicy = (declared: Policy | undefined) =>
    declared === undefined ? undefined : compilePolicy(declared, ignoreError);
  const writableBy = compileOptionalPolicy(spec.writableBy);
  const compared = spec.inner?.spec ?? spec;
  const { toColumn } = fieldTypeOf(compared);
  const transforms = hasCustomRulesOfKind(spec, 'standard') || hasCustomRulesOfKind(spec, 'content');
  const holdsFiles = findFileRules(spec) !== undefined;
  return {
    name,
    column: snakeCase(name),
    spec,
    type,
    schema: fieldSchema(spec, unknownFields, maxBytes),
    hasRules: hasCustomRulesOfKind(spec, 'checks') || transforms,
    transforms,
    columnType: columnTypeOf(spec),
    toParameter: toColumn && ((value) => toColumn(value, compared)),
    maxBytes: type.indexedByExpression ? maxBytes : maxBytesInIndex(spec, maxBytes),
    sortsByPrefix: spec.sortable === true && isTextTooLongForIndex(spec),
    operators: new Set(operators),
    visibleTo: compileOptionalPolicy(spec.visibleTo),
    writableBy,
    personal: isPersonalField(name, spec),
    closed: Boolean(spec.hidden || spec.readOnly || (writableBy !== undefined && allowsNobody(writableBy))),
    secret: spec.hidden === true || spec.writeOnly === true || type.concealed === true,
    target: spec.target ?? spec.inner?.spec.target,
    holdsFiles,
    toOutput: holdsFiles
      ? (value) => (Array.isArray(value) ? value.map(serializeFile) : serializeFile(value as StoredFile))
      : undefined,
  };
}

// Policy errors need no report here: declarations are checked for configuration errors before they are compiled.
const ignoreError = () => undefined;

/** The field that holds the owner's id, if the resource has one. */
export function ownerFieldOf(resource: AnyResource): string | undefined {
  const marked = Object.entries(resource.fields as Fields).find(([, field]) => field.spec.owner);
  if (marked !== undefined) return marked[0];
  return resource.owner === '_id' ? 'id' : resource.owner;
}

function parseDefaultSort(resource: AnyResource, timestamps: boolean): SortTerm[] {
  const declared = resource.defaultSort ?? (timestamps ? '-createdAt' : '_id');
  return declared.split(',').map((term) => {
    const name = term.trim().replace(/^-/, '');
    const field = name === '_id' ? 'id' : name;
    return { field, column: snakeCase(field), descending: term.trim().startsWith('-') };
  });
}

/** The policy of an action as declared, or its default. */
export function declaredOrDefaultPolicy(resource: AnyResource, action: Action): Policy {
  const declared = resource.policies?.[action];
  if (declared !== undefined) return declared;
  if (action === 'list' || action === 'read') return 'authenticated';
  return ownerFieldOf(resource) === undefined ? 'admin' : 'owner | admin';
}

/** Maximum operations of a batch. */
export const MAX_BATCH_OPERATIONS = 1000;

/** The actions that change records. */
export const WRITE_ACTIONS: readonly Action[] = ['create', 'update', 'delete'];

function maxBatchOperations({ batch = true }: AnyResource, actions: ReadonlySet<Action>): number | undefined {
  if (batch === false || !WRITE_ACTIONS.some((action) => actions.has(action))) return undefined;
  return (batch === true ? undefined : batch.max) ?? MAX_BATCH_OPERATIONS;
}

function compileResource(
  resource: AnyResource,
  unknownFields: 'reject' | 'strip',
  serializeFile: SerializeFile,
): Omit<CompiledResource, 'indexes' | 'constraints' | 'relations' | 'getResource' | 'reportRuleError'> {
  const timestamps = resource.timestamps !== false;
  const ownerField = ownerFieldOf(resource);
  const fields = Object.entries(resource.fields as Fields).map(([name, field]) =>
    compileField(name, field, { unknownFields, serializeFile, maxBytes: maxBytesInDeclaredIndexes(resource, name) }),
  );
  const compileActionPolicy = (action: Action) => compilePolicy(declaredOrDefaultPolicy(resource, action), ignoreError);
  const plural = pluralName(resource.name);
  const crud = resource.crud ?? true;
  const actions = new Set(crud === true ? ACTIONS : crud === false ? [] : crud);
  const defaultSort = parseDefaultSort(resource, timestamps);
  const defaultOrder = defaultOrderIndexTerms(defaultSort, (name) => (resource.fields as Fields)[name]?.spec);
  return {
    name: resource.name,
    declaration: resource,
    path: resource.path ?? `/${plural}`,
    table: resource.collection ?? snakeCase(plural),
    timestamps,
    softDelete: resource.softDelete === true,
    holdsFiles: fields.some((field) => field.holdsFiles),
    recordsOrigin: resource.audit === true,
    recordsLocale: resource.name === 'user',
    fields,
    field: new Map(fields.map((field) => [field.name, field])),
    checkedReferences: fields.filter((field) => field.spec.exists),
    ownerField,
    policies: {
      list: compileActionPolicy('list'),
      read: compileActionPolicy('read'),
      create: compileActionPolicy('create'),
      update: compileActionPolicy('update'),
      delete: compileActionPolicy('delete'),
      reference:
        resource.policies?.reference === undefined
          ? compileActionPolicy('read')
          : compilePolicy(resource.policies.reference, ignoreError),
    },
    actions,
    maxBatchOperations: maxBatchOperations(resource, actions),
    defaultSort,
    defaultOrder,
    indexedSorts: new Set([
      'id',
      ...(timestamps ? ['createdAt'] : []),
      ...(resource.indexes ?? []).map((index) => index.fields[0]!.replace(/^-/, '')),
      ...fields.filter((field) => field.spec.sortable).map((field) => field.name),
      ...(defaultOrder === undefined ? [] : [defaultOrder[0]!.field]),
    ]),
    populated: fields.filter((field) => field.spec.populate).map((field) => field.name),
  };
}

/**
 * Compiles declarations of resources for use by requests. The declarations must be valid.
 *
 * @param taken names that other tables and their indexes use
 * @param reportRuleError logs errors of policy, `visibleTo` and scope functions; left out: the errors of these functions are thrown
 * @param serializeFile adds the URLs of a file in responses; left out: responses contain the stored metadata
 * @param recordsOrigins whether events of all resources record the origin of a change; otherwise only those with `audit: true`
 */
export function compileResources(
  resources: readonly AnyResource[],
  unknownFields: 'reject' | 'strip',
  taken: Iterable<string> = [],
  reportRuleError: ReportRuleError = rethrow,
  serializeFile: SerializeFile = (file) => file,
  recordsOrigins = false,
): CompiledResource[] {
  const compiled = resources.map((resource) => {
    const own = compileResource(resource, unknownFields, serializeFile);
    return { ...own, recordsOrigin: recordsOrigins || own.recordsOrigin, reportRuleError };
  });
  const relations = compileRelations(compiled);
  const byName = new Map<string, CompiledResource>();
  const getResource = (name: string) => byName.get(name)!;
  const related = compiled.map((resource) => ({ ...resource, relations: relations.get(resource.name)!, getResource }));
  const indexed = withIndexes(related, taken);
  for (const resource of indexed) byName.set(resource.name, resource);
  return indexed;
}
