import type { Parameters } from './sql.ts';

/** The condition that a row is as one of these transactions wrote it; only a statement can ask it. */
export interface Writers {
  writers: readonly string[];
}

/** The condition as SQL. `xmin`: https://www.postgresql.org/docs/current/ddl-system-columns.html */
export function writersSql({ writers }: Writers, params: Parameters): string {
  return `"xmin" = any(${params.add(writers)}::xid[])`;
}
