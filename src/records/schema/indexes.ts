import type { FieldSpec } from '../../declare/field.ts';
import { computeShortDigest, shortenIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { fieldTypeOf, isTextTooLongForIndex } from '../fields/field-type.ts';
import { MAX_INDEXED_BYTES } from '../fields/text-rules.ts';
import { type CompiledField, type CompiledResource, columnOf, type Index, type SortTerm } from './compiled.ts';
import { compileConstraints } from './constraints.ts';
import { relationNamesOfTable } from './table-names.ts';

/** Maximum bytes of a field's value in an index; undefined if a value may not fit. The record's own fields are short. */
function maxIndexedBytes(spec: FieldSpec | undefined): number | undefined {
  if (spec === undefined) return 0;
  return spec.encrypted ? undefined : fieldTypeOf(spec).indexedBytes?.(spec);
}

/** Appends the id to a sort order that does not contain it yet. No two records are then equal in the order. */
export function addIdTieBreaker<Term extends SortTerm>(sorted: readonly Term[]): (Term | SortTerm)[] {
  if (sorted.some((term) => term.field === 'id')) return [...sorted];
  // The id has the direction of the last term: an index on (field, id) then serves both directions.
  return [...sorted, { field: 'id', column: 'id', descending: sorted.at(-1)?.descending ?? false }];
}

/**
 * The columns of the index that serves a resource's default order; undefined if an index cannot hold them. If all terms descend, the index
 * is ascending and read backwards.
 *
 * @param specOf returns the declaration of a field; undefined for the record's own fields
 */
export function defaultOrderIndexTerms(
  sorted: readonly SortTerm[],
  specOf: (field: string) => FieldSpec | undefined,
): SortTerm[] | undefined {
  const specs = sorted.map((term) => specOf(term.field));
  const bytes = specs.map(maxIndexedBytes);
  if (bytes.some((one) => one === undefined)) return undefined;
  if (bytes.reduce<number>((sum, one) => sum + one!, 0) > MAX_INDEXED_BYTES) return undefined;
  const terms = addIdTieBreaker(sorted);
  return terms.every((term) => term.descending) ? terms.map((term) => ({ ...term, descending: false })) : terms;
}

/** An index that has no name yet. */
interface PlannedIndex extends Omit<Index, 'name'> {
  /** The terms that the name of the index is built from. `kind` is the last word of the name. */
  named: readonly SortTerm[];
  kind: string;
}

/** A compiled resource without indexes and constraints. */
type UnindexedResource = Omit<CompiledResource, 'indexes' | 'constraints'>;

const PLAIN_INDEX = { kind: 'index', method: 'btree', unique: false } as const;

function createSortTerm(resource: UnindexedResource, field: string, descending = false): SortTerm {
  return { field, column: columnOf(resource, field), descending };
}

/** Whether a reference needs an index: the deletion of its target must find the referring records, and no other index serves that. */
function needsReferenceIndex({ declaration }: UnindexedResource, { name, spec }: CompiledField): boolean {
  if (spec.onDelete === undefined || spec.unique || spec.sortable) return false;
  return !(declaration.indexes ?? []).some(({ fields: [first] }) => first!.replace(/^-/, '') === name);
}

function planFieldIndexes(resource: UnindexedResource, field: CompiledField): PlannedIndex[] {
  const { spec, operators } = field;
  const own = [createSortTerm(resource, field.name)];
  const plain = { ...PLAIN_INDEX, terms: own, named: own };
  const indexes: PlannedIndex[] = [];
  if (spec.unique)
    indexes.push({ ...plain, kind: 'unique', unique: true, method: isTextTooLongForIndex(spec) ? 'digest' : 'btree' });
  // With the id as last column, the index has the total order of a sorted page, so it can serve the page.
  if (spec.sortable) {
    const method = field.sortsByPrefix ? 'prefix' : 'btree';
    indexes.push({ ...plain, kind: 'sort_index', terms: addIdTieBreaker(own), method });
  }
  const method = field.type.indexMethod?.(spec);
  const compared = operators.size > 0 || spec.index === true || spec.onDelete !== undefined;
  if (compared && method === 'gin') indexes.push({ ...plain, kind: 'gin_index', method });
  if (spec.searchable) indexes.push({ ...plain, kind: 'search_index', method: 'search' });
  // No further index for the owner field: the index for lists of an owner's records begins with it.
  if (field.name === resource.ownerField) return indexes;
  if (method === undefined || method === 'gin') return indexes;
  const sorted = spec.sortable && !field.sortsByPrefix;
  if (spec.index || (operators.size > 0 && !sorted) || needsReferenceIndex(resource, field))
    indexes.push({ ...plain, method: method === 'hash' ? 'hash' : 'btree' });
  return indexes;
}

function planDeclaredIndexes(resource: UnindexedResource): PlannedIndex[] {
  return (resource.declaration.indexes ?? []).flatMap(({ fields, unique = false }) => {
    const terms = fields.map((name) => createSortTerm(resource, name.replace(/^-/, ''), name.startsWith('-')));
    // The order by `createdAt` already has an index.
    if (!unique && resource.timestamps && terms.length === 1 && terms[0]!.field === 'createdAt') return [];
    return [{ ...PLAIN_INDEX, kind: unique ? 'unique' : 'index', unique, terms, named: terms }];
  });
}

/**
 * The indexes that serve the orders of lists: by creation time, the default order, and the order of an owner's records. There is none by
 * `updatedAt`: every update would have to write every index of the table (https://www.postgresql.org/docs/current/storage-hot.html).
 */
function planOrderIndexes(resource: UnindexedResource): PlannedIndex[] {
  const { ownerField: owner, timestamps, defaultOrder } = resource;
  const created = timestamps ? [createSortTerm(resource, 'createdAt')] : [];
  const indexes: PlannedIndex[] = timestamps
    ? [{ ...PLAIN_INDEX, terms: addIdTieBreaker(created), named: created }]
    : [];
  if (defaultOrder !== undefined && needsDefaultOrderIndex(resource, defaultOrder)) {
    indexes.push({ ...PLAIN_INDEX, kind: 'order_index', terms: defaultOrder, named: defaultOrder });
  }
  if (owner !== undefined && owner !== 'id') {
    const own = createSortTerm(resource, owner);
    const rest = (defaultOrder ?? addIdTieBreaker(created)).filter(({ field }) => field !== owner);
    indexes.push({ ...PLAIN_INDEX, kind: 'owner_index', terms: [own, ...rest], named: [own] });
  }
  return indexes;
}

// Whether the default order needs an index of its own. The id, `createdAt` and sortable fields have one already; `updatedAt` must have
// none.
function needsDefaultOrderIndex({ timestamps, field }: UnindexedResource, order: readonly SortTerm[]): boolean {
  const [first] = order;
  if (first!.field === 'id') return false;
  if (order.length > 2) return true;
  const spec = field.get(first!.field)?.spec;
  return spec === undefined ? !timestamps : !spec.sortable;
}

/**
 * A key that is equal for equivalent indexes. Reversing the direction of all columns makes no difference: Postgres reads an index in both
 * directions.
 */
function indexEquivalenceKey({ method, terms }: PlannedIndex): string {
  const backwards = terms[0]!.descending;
  return JSON.stringify([method, ...terms.map(({ column, descending }) => [column, descending !== backwards])]);
}

function planIndexes(resource: UnindexedResource): PlannedIndex[] {
  const fields = resource.fields.flatMap((field) => planFieldIndexes(resource, field));
  return removeRedundantIndexes([...fields, ...planDeclaredIndexes(resource), ...planOrderIndexes(resource)]);
}

/** Removes indexes that duplicate another one. A unique index also serves as a non-unique one. */
function removeRedundantIndexes(planned: readonly PlannedIndex[]): PlannedIndex[] {
  const kept = new Map<string, PlannedIndex>();
  for (const one of planned) {
    const other = kept.get(indexEquivalenceKey(one));
    if (other === undefined || (one.unique && !other.unique)) kept.set(indexEquivalenceKey(one), one);
  }
  // The primary key already covers the id.
  return [...kept.values()].filter(({ terms }) => terms.length > 1 || terms[0]!.field !== 'id');
}

/** Candidate names of an index in order of preference: the plain name, the name with directions, then names with a digest. */
function* candidateIndexNames({ table }: UnindexedResource, planned: PlannedIndex): Generator<string> {
  const { kind, named, unique } = planned;
  const formatName = (columns: readonly string[]) => `${table}_${columns.join('_')}_${kind}`;
  const plain = formatName(named.map(({ column }) => column));
  yield shortenIdentifier(plain);
  yield shortenIdentifier(formatName(named.map(({ column, descending }) => (descending ? `${column}_desc` : column))));
  for (let again = 0; ; again++)
    yield shortenIdentifier(`${plain}_${computeShortDigest(`${indexEquivalenceKey(planned)} ${unique} ${again}`)}`);
}

/**
 * Adds each resource's indexes and constraints, with names that no other relation of the schema has. The first index gets the plain name:
 * adding another index then does not rename existing ones.
 *
 * @param taken names that other tables and their indexes use
 */
export function withIndexes(resources: readonly UnindexedResource[], taken: Iterable<string>): CompiledResource[] {
  const used = new Set([
    ...taken,
    ...resources.flatMap(({ table, softDelete }) => relationNamesOfTable(table, softDelete)),
  ]);
  const names = new Map<PlannedIndex, string>();
  const assignFirstFreeName = (planned: PlannedIndex, free: Iterable<string>) => {
    for (const name of free) {
      if (used.has(name)) continue;
      used.add(name);
      names.set(planned, name);
      return;
    }
  };
  const all = resources.map((resource) => ({ resource, planned: planIndexes(resource) }));
  for (const { resource, planned } of all)
    for (const one of planned) assignFirstFreeName(one, candidateIndexNames(resource, one).take(1));
  for (const { resource, planned } of all) {
    for (const one of planned) if (!names.has(one)) assignFirstFreeName(one, candidateIndexNames(resource, one));
  }
  return all.map(({ resource, planned }) => ({
    ...resource,
    constraints: compileConstraints(resource.declaration, resource.table, used),
    indexes: planned.map((one) => ({
      name: names.get(one)!,
      method: one.method,
      unique: one.unique,
      terms: one.terms,
    })),
  }));
}

/** The declared fields of a unique index, without the record's own (`createdAt`); empty for any other index. */
export function fieldsOfUniqueIndex({ indexes, field }: CompiledResource, name: string): CompiledField[] {
  const index = indexes.find((one) => one.name === name && one.unique);
  return (index?.terms ?? []).flatMap((term) => field.get(term.field) ?? []);
}
