import type { RecordQuery as DeclaredQuery } from '../../declare/service.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { type Condition, RelatedCondition } from './list-query.ts';

/** The values of one field in the records that a query selects. Created by `service.query`, and only evaluated as part of a list or check. */
export class RecordQuery implements DeclaredQuery {
  declare readonly $query?: true;
  readonly #resource: CompiledResource;
  readonly #conditions: readonly Condition[];
  readonly #field: string;

  /** @throws Error for a field whose values cannot be compared */
  constructor(resource: CompiledResource, conditions: readonly Condition[], field: string) {
    this.#resource = resource;
    this.#conditions = conditions;
    this.#field = field;
    describeComparedColumn(resource, field);
  }

  /** The condition that a column has one of the values. */
  static conditionFor(query: RecordQuery, resource: CompiledResource, field: string): Condition {
    const compared = describeComparedColumn(resource, field);
    const selected = describeComparedColumn(query.#resource, query.#field);
    if (selected.isArray || compared.type !== selected.type)
      throw new Error(
        `"${field}" of "${resource.name}" cannot be compared with "${query.#field}" of "${query.#resource.name}": the types of the fields differ`,
      );
    const join = {
      field: resource.field.get(field),
      from: compared.column,
      to: selected.column,
      match: compared.isArray ? ('fromArray' as const) : ('equal' as const),
    };
    return new RelatedCondition(query.#resource, join, query.#conditions);
  }
}

/** The column of a field with comparable values, and the type of these values. */
function describeComparedColumn(resource: CompiledResource, name: string) {
  if (name === 'id') return { column: 'id', type: 'text', isArray: false };
  const field = resource.field.get(name);
  if (field === undefined || field.type.concealed || field.spec.encrypted || field.type.comparable === undefined)
    throw new Error(`"${name}" of "${resource.name}" is not a field whose values can be compared`);
  const { columnType, column } = field;
  return { column, type: columnType.item?.sql ?? columnType.sql, isArray: columnType.item !== undefined };
}

/**
 * The condition of `{ in: query }`.
 *
 * @throws Error for another operator, or fields of different types
 */
export function queryCondition(resource: CompiledResource, field: string, op: string, query: RecordQuery): Condition {
  if (op !== 'in') throw new Error(`"${field}" can be compared with a query only by "in", not by "${op}"`);
  return RecordQuery.conditionFor(query, resource, field);
}
