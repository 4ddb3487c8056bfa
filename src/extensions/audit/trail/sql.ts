import { ENTRIES_WITH_VALUES, ENTRY_COLUMNS, VALUES_COLUMNS } from './entry.ts';

/** Makes transactions that add or remove audit entries run one after the other. The lock ends with the transaction. */
export const LOCK_CHAIN = `select pg_advisory_xact_lock(hashtextextended('audit_entries', 0))`;

/** The end of the chain. No row: the chain is empty and has never had rows. */
export const SELECT_LAST_ENTRY = `
  select id, hash from (
    (select id, hash from audit_entries order by id desc limit 1)
    union all
    (select id, hash from audit_anchors order by id desc limit 1)
  ) ends order by id desc limit 1`;

// `copy` costs Postgres two thirds of an insert from arrays, which spends half of its time on reading its parameters.
/** Adds audit entries. */
export const COPY_ENTRIES = `copy audit_entries (${ENTRY_COLUMNS}) from stdin`;

/** Adds the erasable values of audit entries. */
export const COPY_VALUES = 'copy audit_values (entry_id, owner_id, salt, values_by_field) from stdin';

const SPECIAL = /[\\\n\r\t]/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const toCopyText = (value: string) =>
  SPECIAL.test(value) ? value.replace(/[\\\n\r\t]/g, (character) => ESCAPES[character]!) : value;

/** Returns columns of a row in the text format of `copy`. A row ends with a line break; a tab separates it from further columns. */
export function toCopyColumns(values: readonly (string | null | undefined)[]): string {
  return values.map((value) => (value === null || value === undefined ? '\\N' : toCopyText(value))).join('\t');
}

/** $1 owner, $2 maximum number of rows. Uses audit_values_owner_id_index. */
export const ERASE_VALUES = `
  delete from audit_values where entry_id in (select entry_id from audit_values where owner_id = $1 limit $2) returning 1`;

/** $1 the id after which the page starts, $2 page size. */
export const SELECT_ENTRIES_AFTER = `
  select ${ENTRY_COLUMNS}, ${VALUES_COLUMNS} from ${ENTRIES_WITH_VALUES} where id > $1 order by id limit $2`;

/** Id and hash of the last audit entry that retention removed. */
export const SELECT_ANCHOR = 'select id, hash from audit_anchors order by id desc limit 1';

/** The oldest audit entries, each with whether it is old. $1 days after which an entry is old, $2 maximum number of rows. */
export const SELECT_OLDEST_ENTRIES = `
  select id, hash, at <= now() - $1 * interval '1 day' from audit_entries order by id limit $2`;

/** Stores where the chain will start. $1 id of the last audit entry to remove, $2 its hash. */
export const INSERT_ANCHOR = 'insert into audit_anchors (id, hash) values ($1, $2)';

/** Removes audit entries and their values. $1 id of the last entry to remove. */
export const REMOVE_ENTRIES = `
  with gone as (delete from audit_values where entry_id <= $1) delete from audit_entries where id <= $1`;

/** Removes older anchors. $1 id of the newest anchor. */
export const REMOVE_ANCHORS = 'delete from audit_anchors where id < $1';

/** The number of triggers that make the audit tables append-only and are enabled. */
export const COUNT_TRIGGERS = `
  select count(*)::int from pg_trigger t join pg_class c on c.oid = t.tgrelid
   where c.relnamespace = (select oid from pg_namespace where nspname = current_schema())
     and c.relname in ('audit_entries', 'audit_anchors') and t.tgname in ('audit_row_stays', 'audit_table_stays')
     and t.tgenabled in ('A', 'O')`;
