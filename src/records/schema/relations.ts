import type { ReverseRelation } from '../../declare/relation.ts';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import type { CompiledField, CompiledResource, Relation } from './compiled.ts';

/** The name that `include` uses for the number of records of a reverse relation: `commentsCount`. */
export function countNameOf(relation: string): string {
  return `${relation}Count`;
}

/** Whether a field holds several references. */
function holdsManyReferences({ spec }: CompiledField): boolean {
  return spec.inner !== undefined;
}

/**
 * Compiles the relations of resources: their reference fields, and the reverse relations that they declare.
 *
 * @param resources compiled except for their relations; their declarations must be valid
 */
export function compileRelations(
  resources: readonly Pick<CompiledResource, 'name' | 'fields' | 'field' | 'declaration'>[],
): Map<string, Map<string, Relation>> {
  const byName = new Map(resources.map((resource) => [resource.name, resource]));
  return new Map(
    resources.map(({ name, fields, declaration }) => {
      const references = fields.flatMap((field): Relation[] =>
        field.target === undefined
          ? []
          : [{ name: field.name, target: field.target, kind: holdsManyReferences(field) ? 'many' : 'one', field }],
      );
      const declared = Object.entries((declaration.relations ?? {}) as Record<string, ReverseRelation>);
      const reverse = declared.map(
        ([relation, { target, field, limit }]): Relation => ({
          name: relation,
          target,
          kind: 'reverse',
          field: byName.get(target)!.field.get(field)!,
          limit,
        }),
      );
      return [name, new Map([...references, ...reverse].map((relation) => [relation.name, relation]))];
    }),
  );
}

/** How related records belong to a record: the columns on both sides, and whether one of them is an array. */
export interface Join {
  /** The field of the record that holds its value; undefined for its id. */
  field: CompiledField | undefined;
  /** The column of the record. */
  from: string;
  /** The column of the related record. */
  to: string;
  /** `equal`: both hold one value. `fromArray`: `from` is an array that contains the value of `to`. `toArray`: the reverse. */
  match: 'equal' | 'fromArray' | 'toArray';
}

/** The join of a relation. */
export function joinOfRelation({ kind, field }: Relation): Join {
  if (kind === 'reverse')
    return { field: undefined, from: 'id', to: field.column, match: holdsManyReferences(field) ? 'toArray' : 'equal' };
  return { field, from: field.column, to: 'id', match: kind === 'one' ? 'equal' : 'fromArray' };
}

/**
 * The SQL condition that a related row belongs to a row.
 *
 * @param from the SQL of the row's value
 * @param to the alias of the related row
 */
export function joinSql({ to: column, match }: Join, from: string, to: string): string {
  const related = `${to}.${quoteIdentifier(column)}`;
  if (match === 'equal') return `${related} = ${from}`;
  // With `@>`, the GIN index of the array serves the condition.
  return match === 'fromArray' ? `${related} = any(${from})` : `${related} @> array[${from}]`;
}

/**
 * The SQL condition that a row of a relation's target belongs to a row of the resource.
 *
 * @param from the alias of the resource's row
 * @param to the alias of the target's row
 */
export function relationJoinSql(relation: Relation, from: string, to: string): string {
  const join = joinOfRelation(relation);
  return joinSql(join, `${from}.${quoteIdentifier(join.from)}`, to);
}

/** The reverse relation that an include returns: its records (`comments`), or their number (`commentsCount`). */
interface IncludedRelation {
  relation: Relation;
  counts: boolean;
}

/** The reverse relation that a name in an `include` stands for; undefined if it is a reference. */
export function findIncludedRelation(
  { relations }: Pick<CompiledResource, 'relations'>,
  name: string,
): IncludedRelation | undefined {
  const relation = relations.get(name);
  if (relation !== undefined) return relation.kind === 'reverse' ? { relation, counts: false } : undefined;
  const counted = [...relations.values()].find((one) => one.kind === 'reverse' && countNameOf(one.name) === name);
  return counted && { relation: counted, counts: true };
}

/** The reverse relations of a resource that clients may know of. */
export function clientVisibleReverseRelations({ relations }: Pick<CompiledResource, 'relations'>): Relation[] {
  return [...relations.values()].filter(({ kind, field }) => kind === 'reverse' && !field.secret);
}
