import type { FieldSpec, Fields } from '../../../declare/field.ts';
import type { ResourceView } from '../../../declare/host.ts';
import { snakeCase } from '../../../declare/naming.ts';
import { quoteIdentifier } from '../../../platform/postgres/quote-identifier.ts';
import { quoteLiteral } from '../../../platform/postgres/quote-literal.ts';
import type { ErasurePlan } from '../../../records/erasure-plan.ts';

/** The statements that erase a user's share of a resource. */
export interface RecordStatements {
  /** $1 owner, $2 how many. Takes hold of records that nobody else holds. */
  take: string;
  /** The same, and waits for who holds them: for what the first one leaves. */
  takeWaiting: string;
  /** $1 ids, $2 an id for the event of each. Gives the records as their events tell them, in JSON. */
  remove: string;
  /** $1 ids, $2 an id for the event of each, then `emptied`. Gives the same of the records as they are and were. */
  anonymize: string;
  /**
   * Of a page of the deleted records, which have no index by owner: $1 owner, $2 the last id of the page before, $3 how many it has.
   * Gives how many of them were the owner's, and the last id where there is another page. Undefined without soft delete.
   */
  removeArchived: string | undefined;
  /** The same, with `emptied` from $4 on. */
  anonymizeArchived: string | undefined;
  /** $1 owner. The deleted ones that are kept, too. */
  count: string;
  /** What stands in the emptied fields. */
  emptied: readonly unknown[];
}

/** Columns whose values no event may tell after an erasure: what is personal, and hashes, which none tells anyway. */
export function untoldColumns({ declaration }: ResourceView, { personal }: ErasurePlan): string[] {
  const passwords = Object.entries(declaration.fields as Fields).filter(([, { spec }]) => isPassword(spec));
  return [...personal.map(({ column }) => column), ...passwords.map(([name]) => snakeCase(name))];
}

function isPassword({ kind }: FieldSpec): boolean {
  return kind === 'password';
}

/** A list of column names as SQL. */
export function textArray(names: readonly string[]): string {
  return `array[${names.map(quoteLiteral).join(', ')}]::text[]`;
}

/** @param plan of a resource whose records have an owner */
export function recordStatements(view: ResourceView, plan: ErasurePlan): RecordStatements {
  const table = quoteIdentifier(view.table);
  const owner = quoteIdentifier(plan.ownerColumn!);
  const untold = textArray(untoldColumns(view, plan));
  const passwords = textArray(untoldColumns(view, { ...plan, personal: [] }));
  const origin = view.declaration.audit === true ? `, 'origin', '{"via":"system"}'::jsonb` : '';
  const outbox = (action: string, parts: string, from: string) => `_outbox as (
    insert into outbox (event_id, name, resource, record_id, payload)
    select _event.id, '${view.name}.${action}', '${view.name}', _new."id", jsonb_build_object(${parts}${origin})
    from ${from} join unnest($1::text[], $2::text[]) _event(record_id, id) on _event.record_id = _new."id")`;
  const take = `select ${view.columns('_row')} from ${table} _row where _row.${owner} = $1`;
  const sets = (given: number, time: string) => {
    const places = plan.personal.map(({ column }, i) => `${quoteIdentifier(column)} = $${given + i + 1}`);
    const own = plan.ownerColumn === 'id' ? [] : [`${owner} = null`];
    return [...places, ...own, ...(view.declaration.timestamps === false || time === '' ? [] : [time])].join(', ');
  };
  const later = `"updated_at" = greatest(now(), _row."updated_at" + interval '1 millisecond')`;
  const archive = view.archiveTable === undefined ? undefined : quoteIdentifier(view.archiveTable);
  const archived = (change: string) => `
  with page as materialized (
    select "id", ${owner} = $1 as theirs from ${archive} where "id" > $2 order by "id" limit $3
  ), changed as (${change} where "id" in (select "id" from page where theirs) returning 1)
  select (select count(*) from changed), (select "id" from page offset $3::bigint - 1)`;
  return {
    take: `${take} limit $2 for update skip locked`,
    takeWaiting: `${take} order by _row."id" limit $2 for update`,
    remove: `with _new as (delete from ${table} where "id" = any($1) returning *),
  ${outbox('deleted', `'record', to_jsonb(_new.*) - ${untold}`, '_new')}
  select to_jsonb(_new.*) - ${untold} from _new`,
    anonymize: `with _old as (select * from ${table} where "id" = any($1)),
  _new as (update ${table} _row set ${sets(2, later)} from _old where _row."id" = _old."id" returning _row.*),
  ${outbox('updated', `'record', to_jsonb(_new.*) - ${passwords}, 'previous', to_jsonb(_old.*) - ${untold}`, '_new join _old on _old."id" = _new."id"')}
  select to_jsonb(_new.*) - ${passwords}, to_jsonb(_old.*) - ${untold} from _new join _old on _old."id" = _new."id"`,
    removeArchived: archive && archived(`delete from ${archive}`),
    anonymizeArchived: archive && archived(`update ${archive} set ${sets(3, '')}`),
    count: `select ${[table, ...(archive === undefined ? [] : [archive])]
      .map((from) => `(select count(*) from ${from} where ${owner} = $1)`)
      .join(' + ')}`,
    emptied: plan.personal.map(({ emptied }) => emptied),
  };
}
