import { quoteIdentifier } from '../../platform/postgres/quote-identifier.ts';
import { prefixSql } from '../fields/index-expressions.ts';
import type { CompiledResource, SortTerm } from '../schema/compiled.ts';
import type { Position } from './list-query.ts';
import type { Parameters } from './sql.ts';

interface Term {
  /** SQL. */
  column: string;
  descending: boolean;
  /** Whether records without the value are possible: Postgres sorts them as the greatest. */
  nullable: boolean;
  /** The placeholder of the value at the position; undefined when there is none. */
  value: string | undefined;
}

function termAt(resource: CompiledResource, term: SortTerm, value: unknown, params: Parameters): Term {
  const field = resource.field.get(term.field);
  const { descending } = term;
  const compared = (text: string) => (field?.sortsByPrefix ? prefixSql(text) : text);
  const place = { column: compared(quoteIdentifier(term.column)), descending, nullable: field !== undefined };
  if (value === null) return { ...place, value: undefined };
  if (field === undefined) return { ...place, value: params.add(value) };
  const stored = field.type.toColumn === undefined ? value : field.type.toColumn(value, field.spec);
  return { ...place, value: compared(`${params.add(stored)}::${field.type.column(field.spec)}`) };
}

function equal({ column, value }: Term): string {
  return value === undefined ? `${column} is null` : `${column} = ${value}`;
}

/** The ranges of one term that come after its value. */
function rangesAfterTerm({ column, descending, nullable, value }: Term): string[] {
  if (value === undefined) return descending ? [`${column} is not null`] : [];
  if (descending) return [`${column} < ${value}`];
  return nullable ? [`${column} > ${value}`, `${column} is null`] : [`${column} > ${value}`];
}

/** Terms of one direction and with values: one comparison of rows, which an index on them answers as one range. */
function rangesAfterRow(terms: readonly Term[]): string[] {
  const [columns, values] = [terms.map((term) => term.column), terms.map((term) => term.value)];
  const row = `(${columns.join(', ')}) ${terms[0]!.descending ? '<' : '>'} (${values.join(', ')})`;
  if (terms[0]!.descending) return [row];
  // A comparison of rows knows no records without a value.
  const without = terms.flatMap((term, i) =>
    term.nullable ? [[...terms.slice(0, i).map(equal), `${term.column} is null`].join(' and ')] : [],
  );
  return [row, ...without];
}

function rangesOf(terms: readonly Term[]): string[] {
  const [first, ...rest] = terms as [Term, ...Term[]];
  if (rest.length === 0) return rangesAfterTerm(first);
  if (terms.every((term) => term.descending === first.descending && term.value !== undefined))
    return rangesAfterRow(terms);
  return [...rangesAfterTerm(first), ...rangesOf(rest).map((range) => `${equal(first)} and ${range}`)];
}

/**
 * What comes after a position in a sorted list, as conditions in SQL. They exclude each other and are all of it; each is one
 * range of an index on the sort terms, so that a page costs the same wherever it begins.
 */
export function rangesAfter(
  resource: CompiledResource,
  sort: readonly SortTerm[],
  position: Position,
  params: Parameters,
): string[] {
  return rangesOf(sort.map((term, i) => termAt(resource, term, position[i], params)));
}
