import type { CompiledField } from '../compiled.ts';
import { type Parameters, quoted } from './sql.ts';

/** The condition that a column still holds what it held; only a statement can ask it. */
export interface Unchanged {
  column: CompiledField;
  /** As Postgres takes it. */
  held: unknown;
}

/** The condition as SQL. */
export function unchangedSql({ column: { column, spec, type }, held }: Unchanged, params: Parameters): string {
  // `=` is unknown, not true, for two that are null.
  return `${quoted(column)} is not distinct from ${params.add(held)}::${spec.encrypted ? 'text' : type.column(spec)}`;
}
