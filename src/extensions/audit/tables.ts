import { bigint, index, jsonb, pgTable, text, timestamptz } from '../../extension/index.ts';

/** The audit trail, chained by hashes. Triggers make the rows append-only: see `appendOnlyStatements`. */
export const auditEntries = pgTable(
  'audit_entries',
  {
    /** The position in the chain, without gaps. */
    id: bigint('id', { mode: 'number' }).primaryKey(),
    /** The time of the event. Rows may be added a little later and in another order. */
    at: timestamptz('at').notNull(),
    /** `created`, `updated`, `deleted`, `restored`, or the name of an event: `auth.login`. */
    action: text('action').notNull(),
    resource: text('resource'),
    recordId: text('record_id'),
    userId: text('user_id'),
    /** `session`, `api-key`, `console` or `system`. */
    via: text('via'),
    /** The id of the session or key. */
    credentialId: text('credential_id'),
    ip: text('ip'),
    requestId: text('request_id'),
    /** By field: `{ from, to }`, or `{ changed: true }`. */
    changes: jsonb('changes'),
    details: jsonb('details'),
    previousHash: text('previous_hash').notNull(),
    /** SHA-256 (hex) over the row and the hash of the previous one: see trail/chain.ts. */
    hash: text('hash').notNull(),
  },
  (table) => [
    index('audit_entries_at_index').on(table.at, table.id),
    index('audit_entries_user_id_index').on(table.userId, table.at, table.id),
    index('audit_entries_resource_index').on(table.resource, table.at, table.id),
    index('audit_entries_record_id_index').on(table.recordId, table.at, table.id),
    index('audit_entries_action_index').on(table.action, table.at, table.id),
  ],
);

/**
 * Values of audited fields that an erasure can remove. The entries have only their seals, so that the chain stays valid without the
 * values. A row is deleted with the account of the owner, or with its entry.
 */
export const auditValues = pgTable(
  'audit_values',
  {
    entryId: bigint('entry_id', { mode: 'number' }).primaryKey(),
    /** The owner of the record that the entry is about. */
    ownerId: text('owner_id').notNull(),
    /** Random, so that a removed value cannot be guessed from its seal. */
    salt: text('salt').notNull(),
    /** By field: `{ from, to }`. */
    valuesByField: jsonb('values_by_field').notNull(),
  },
  (table) => [index('audit_values_owner_id_index').on(table.ownerId)],
);

/** The last removed row, where the chain starts after retention has removed its oldest rows. The newest anchor counts. */
export const auditAnchors = pgTable('audit_anchors', {
  id: bigint('id', { mode: 'number' }).primaryKey(),
  hash: text('hash').notNull(),
  at: timestamptz('at').notNull().defaultNow(),
});

/**
 * Returns the SQL of the number of days for which rows stay. It is a function of its own because it is the only part of
 * `appendOnlyStatements` that depends on the app: Belfry's migrations may replace the rest, but must not change the number. They have
 * created the function with the default setting, so a migration is also needed if the default changes.
 *
 * @param keepDays a whole number
 */
export function keepDaysStatement(keepDays: number): string {
  return `create or replace function audit_keep_days() returns integer language sql immutable as $$ select ${keepDays} $$;`;
}

/**
 * Returns the SQL that makes the audit trail append-only for every role: rows cannot be changed, or removed before they are
 * `keepDays` old, and the newest anchor stays. The days are in an SQL function and not in a table, so that the app cannot
 * shorten the time. The search path is fixed; otherwise a role that may create operators could replace the comparison of times.
 *
 * @param keepDays a whole number
 */
export function appendOnlyStatements(keepDays: number): string[] {
  const triggerSql = (table: string) => `
create or replace trigger audit_row_stays before update or delete on ${table} for each row execute function audit_stays();
create or replace trigger audit_table_stays before truncate on ${table} for each statement execute function audit_stays();
alter table ${table} enable always trigger audit_row_stays;
alter table ${table} enable always trigger audit_table_stays;`;
  return [
    keepDaysStatement(keepDays),
    `create or replace function audit_stays() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  keep_days integer;
  newest bigint;
begin
  execute pg_catalog.format('select %I.audit_keep_days()', tg_table_schema) into keep_days;
  if tg_op = 'DELETE' and tg_table_name = 'audit_entries' then
    if old.at <= pg_catalog.now() - pg_catalog.make_interval(days => keep_days) then
      return old;
    end if;
  elsif tg_op = 'DELETE' then
    execute pg_catalog.format('select max(id) from %I.audit_anchors', tg_table_schema) into newest;
    if old.id < newest then
      return old;
    end if;
  end if;
  raise exception 'the audit trail is append-only: % on % is refused', tg_op, tg_table_name
    using errcode = 'insufficient_privilege',
      hint = pg_catalog.format('Rows are removed by the relay when they are %s days old.', keep_days);
end
$$;`,
    triggerSql('audit_entries').trim(),
    triggerSql('audit_anchors').trim(),
  ];
}
