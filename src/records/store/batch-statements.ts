import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { newId } from '../../platform/helpers/ids.ts';
import { type CompiledField, type CompiledResource, sqlTypeOf } from '../schema/compiled.ts';
import type { Codec } from './codec.ts';
import { leaveOutSameEncryptedValues } from './encrypted-values.ts';
import { batchOutboxInsertSql, type Cause, createCauseValues } from './event.ts';
import type { BatchChange, WriteResult } from './store.ts';
import { archiveInsertSql, archiveParameterValues, qualifyColumns, xminColumnSql } from './write-statements.ts';

type BatchAction = BatchChange['action'];

/** Creates the statements that write many records at once. Texts are built once for each combination of actions and fields. */
export interface BatchStatements {
  /**
   * The statement that writes changes and their events, in the order of the changes. It returns one row for each written change.
   *
   * @param under the privileges of a viewer who deletes records of other owners
   */
  write(changes: readonly BatchChange[], cause: Cause, under: readonly string[]): { text: string; values: unknown[] };
  /** Converts the rows of the statement to its results; undefined for a record that was not created because of a conflict. */
  read(changes: readonly BatchChange[], rows: readonly (readonly unknown[])[]): (WriteResult | undefined)[];
}

const MAX_CACHED_TEXTS = 200;
const ORDER: readonly BatchAction[] = ['created', 'updated', 'deleted'];

/** The actions of a batch and the fields that it writes. */
interface BatchShape {
  actions: readonly BatchAction[];
  fields: readonly CompiledField[];
  /** Whether every update sets the same fields. */
  uniform: boolean;
  /** Whether created records have times of their own. */
  timed: boolean;
  /** Whether some updates count as changes in any case. */
  forced: boolean;
}

function shapeOf(resource: CompiledResource, changes: readonly BatchChange[]): BatchShape {
  const found = new Set(changes.map(({ action }) => action));
  const actions = ORDER.filter((action) => found.has(action));
  const updates = changes.filter((change) => change.action === 'updated');
  const isSet = (field: CompiledField) => updates.filter(({ values }) => Object.hasOwn(values, field.name)).length;
  const counts = resource.fields.map(isSet);
  return {
    actions,
    fields: found.has('created') ? resource.fields : resource.fields.filter((_, i) => counts[i]! > 0),
    uniform:
      !(found.has('created') && found.has('updated')) &&
      counts.every((count) => count === 0 || count === updates.length),
    timed: changes.some((change) => change.action === 'created' && change.times !== undefined),
    forced: updates.some(({ isForced }) => isForced),
  };
}

// A value of jsonb arrives as its JSON text, and JSON would turn the text into a JSON string.
function rowTypeOf(field: CompiledField): string {
  const type = sqlTypeOf(field);
  return type === 'jsonb' ? 'text' : type;
}

function valueSql(field: CompiledField): string {
  const value = `_in.${quoteIdentifier(field.column)}`;
  return sqlTypeOf(field) === 'jsonb' ? `${value}::jsonb` : value;
}

/**
 * Creates the SQL texts of a resource's batches.
 *
 * The rows of a batch are one JSON parameter: a text does not depend on their number. `_in` holds the rows. The names of Belfry's own
 * columns in it begin with an underscore, which no column of a resource does.
 */
function createTextBuilder(resource: CompiledResource, codec: Codec): (shape: BatchShape) => string {
  const table = quoteIdentifier(resource.table);
  const xmin = (alias?: string) => xminColumnSql(resource, alias);

  function insertSql({ timed }: BatchShape): string {
    const times = timed ? ['created_at', 'updated_at'] : [];
    const names = ['id', ...resource.fields.map(({ column }) => column), ...times];
    const columns = names.map(quoteIdentifier).join(', ');
    const timeValues = times.map((name) => `coalesce(_in."_${name}", now())`);
    const values = ['_in."id"', ...resource.fields.map(valueSql), ...timeValues].join(', ');
    // The order decides which of two records with the same unique value is created.
    return `_created as (insert into ${table} (${columns}) select ${values} from _in where _in."_action" = 'created'
    order by _in."_place" on conflict do nothing returning *${xmin()})`;
  }

  function updateSql({ fields, uniform, forced }: BatchShape): string {
    const sets: string[] = [];
    const differs = forced ? ['_in."_forced"'] : [];
    for (const [i, field] of fields.entries()) {
      const column = quoteIdentifier(field.column);
      const isSet = `${i} = any(_in."_set")`;
      const isDifferent = `_row.${column} is distinct from ${valueSql(field)}`;
      differs.push(uniform ? isDifferent : `${isSet} and ${isDifferent}`);
      sets.push(
        `${column} = ${uniform ? valueSql(field) : `case when ${isSet} then ${valueSql(field)} else _row.${column} end`}`,
      );
    }
    if (resource.timestamps) {
      sets.push(`"updated_at" = greatest(now(), _row."updated_at" + interval '1 millisecond')`);
    }
    // Updates without any field: the statement needs a column, and changes no row.
    if (sets.length === 0) sets.push('"id" = _row."id"');
    return `_old as (select *${xmin()} from ${table} where "id" in (select "id" from _in where "_action" = 'updated')),
  _updated as (update ${table} _row set ${sets.join(', ')} from _in
    where _in."_action" = 'updated' and _row."id" = _in."id" and (${differs.join(' or ') || 'false'}) returning _row.*${xmin('_row.')})`;
  }

  function deleteSql(): string {
    return `_gone as (delete from ${table} _row using _in
    where _in."_action" = 'deleted' and _row."id" = _in."id" returning _row.*${xmin('_row.')})`;
  }

  return (shape) => {
    const { actions, fields, uniform, timed, forced } = shape;
    const archiveValues = actions.includes('deleted') ? archiveParameterValues(resource, '', []).length : 0;
    const rowColumns = [
      '"_place" integer, "_event" text, "_action" text, "id" text',
      ...(uniform ? [] : ['"_set" integer[]']),
      ...(forced ? ['"_forced" boolean'] : []),
      ...(timed ? ['"_created_at" timestamptz, "_updated_at" timestamptz'] : []),
      ...fields.map((field) => `${quoteIdentifier(field.column)} ${rowTypeOf(field)}`),
    ];
    const sql = { created: () => insertSql(shape), updated: () => updateSql(shape), deleted: deleteSql };
    const source = { created: '_created', updated: '_updated', deleted: '_gone' };
    const written = 'join _new on _new."id" = _in."id"';
    // An update that changes nothing has an old row, but no new one.
    const old = actions.includes('updated')
      ? {
          columns: `, ${qualifyColumns(codec.columns, '_old')}, _new."id" is not null`,
          join: `left ${written} left join _old on _old."id" = _in."id" where _new."id" is not null or _old."id" is not null`,
        }
      : { columns: '', join: written };
    return `with _in as (select * from json_to_recordset($1::json) as _rows(${rowColumns.join(', ')})),
  ${actions.map((action) => sql[action]()).join(',\n  ')},${actions.includes('deleted') ? archiveInsertSql(resource, 1, '_gone') : ''}
  _new as (${actions.map((action) => `select * from ${source[action]}`).join(' union all ')}),
  ${batchOutboxInsertSql(resource, actions, 1 + archiveValues)}
  select _in."_place", ${qualifyColumns(codec.columns, '_new')}${old.columns}
    from _in ${old.join}`;
  };
}

/**
 * Reads the result of an update.
 *
 * @param after the columns of the record after the update; all null if it changed nothing
 */
export function decodeUpdate(
  codec: Codec,
  after: readonly unknown[],
  before: readonly unknown[],
  isChanged: boolean,
): WriteResult {
  const [previous, record = previous] = isChanged ? codec.fromChange(before, after) : codec.fromChange(before);
  return { record: record!, previous: previous!, isChanged };
}

/** Creates the statements of a resource that write many records at once. */
export function createBatchStatements(resource: CompiledResource, codec: Codec): BatchStatements {
  const buildText = createTextBuilder(resource, codec);
  const width = codec.columns.split(', ').length;
  const texts = new Map<string, string>();

  function textOf(shape: BatchShape): string {
    const key = [
      shape.uniform,
      shape.timed,
      shape.forced,
      ...shape.actions,
      ...shape.fields.map(({ column }) => column),
    ].join();
    let text = texts.get(key);
    if (text === undefined) {
      text = buildText(shape);
      if (texts.size < MAX_CACHED_TEXTS) texts.set(key, text);
    }
    return text;
  }

  function rowOf(change: BatchChange, place: number, { fields, uniform }: BatchShape): Record<string, unknown> {
    const { action, id } = change;
    const row: Record<string, unknown> = { _place: place, _event: newId(), _action: action, id };
    if (action === 'deleted') return row;
    if (action === 'created' && change.times !== undefined) {
      row._created_at = change.times.createdAt;
      row._updated_at = change.times.updatedAt;
    }
    const set: number[] = [];
    for (const [i, field] of fields.entries()) {
      if (!Object.hasOwn(change.values, field.name)) continue;
      row[field.column] = codec.toColumn(field, change.values[field.name], id);
      set.push(i);
    }
    if (!uniform && action === 'updated') row._set = set;
    if (action === 'updated' && change.isForced) row._forced = true;
    return row;
  }

  return {
    write(changes, cause, under) {
      const distinct = changes.map((change) =>
        change.action === 'updated' && !change.isForced
          ? { ...change, values: leaveOutSameEncryptedValues(resource, change.values, change.before) }
          : change,
      );
      const shape = shapeOf(resource, distinct);
      const rows = JSON.stringify(distinct.map((change, place) => rowOf(change, place, shape)));
      const kept = shape.actions.includes('deleted') ? archiveParameterValues(resource, cause.userId, under) : [];
      return { text: textOf(shape), values: [rows, ...kept, ...createCauseValues(resource, cause)] };
    },
    read(changes, rows) {
      const results: (WriteResult | undefined)[] = changes.map(() => undefined);
      for (const [place, ...columns] of rows) {
        const { action } = changes[place as number]!;
        if (action === 'created') {
          const record = codec.fromRow(columns);
          results[place as number] = { record, previous: record, isChanged: true };
        } else if (action === 'deleted') {
          const [record] = codec.fromChange(columns);
          results[place as number] = { record: record!, previous: record!, isChanged: true };
        } else {
          results[place as number] = decodeUpdate(codec, columns, columns.slice(width), columns[2 * width] === true);
        }
      }
      return results;
    },
  };
}
