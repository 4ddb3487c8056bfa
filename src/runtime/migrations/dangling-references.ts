import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';

/** A column that refers to the ids of another table. */
interface ReferenceColumn {
  table: string;
  column: string;
  target: string;
}

/** The SQL condition for rows of the table whose value refers to no row of the target. */
export function danglingReferenceCondition({ table, column, target }: ReferenceColumn): string {
  const value = `${quoteIdentifier(table)}.${quoteIdentifier(column)}`;
  return `${value} is not null and not exists (select from ${quoteIdentifier(target)} _target where _target."id" = ${value})`;
}

/** The statement that finds such rows. */
export function findDanglingReferencesSql(reference: ReferenceColumn): string {
  const { table, column } = reference;
  return `select "id", ${quoteIdentifier(column)} from ${quoteIdentifier(table)} where ${danglingReferenceCondition(reference)}`;
}
