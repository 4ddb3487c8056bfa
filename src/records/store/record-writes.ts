import type { Queryable } from '../../platform/data/postgres/queryable.ts';
import { decodeUpdate } from './batch-statements.ts';
import { leaveOutSameEncryptedValues } from './encrypted-values.ts';
import { createEventValues } from './event.ts';
import type { StoreStatements } from './statements.ts';
import type { Store } from './store.ts';
import { archiveParameterValues } from './write-statements.ts';

/** Creates the update of a record. */
function createUpdate(
  { resource, codec, width, statement, writes, whereId }: StoreStatements,
  database: Queryable,
): Store['update'] {
  const isChanged = (row: readonly unknown[]) => row[2 * width] === true;
  return async (id, given, conditions, cause, { before, isForced = false } = {}) => {
    const changes = before === undefined || isForced ? given : leaveOutSameEncryptedValues(resource, given, before);
    // List the fields in declared order, whatever their order in the body, so that fewer distinct statements are prepared.
    const changed = resource.fields.filter((field) => Object.hasOwn(changes, field.name));
    const encrypted = changed.filter(({ spec }) => spec.encrypted);
    const { params, where } = whereId(id, conditions);
    const write = async (isKnownToChange: boolean) => {
      const fields = changed.map((field) => codec.toColumn(field, changes[field.name], id));
      const event = createEventValues(resource, 'updated', cause);
      const [row] = await database.write(
        changed.length === 0
          ? statement(writes.lockUnchanged(where), params.values)
          : statement(writes.update(changed, where, params.values.length, isKnownToChange), [
              ...params.values,
              ...fields,
              ...event,
            ]),
      );
      return row;
    };
    let row = await write(isForced || (before !== undefined && encrypted.length > 0));
    if (before === undefined && row !== undefined && !isChanged(row)) {
      const stored = row.slice(width);
      const differs = encrypted.some((field) => !codec.holdsEncrypted(stored, field, changes[field.name]));
      if (differs) row = await write(true);
    }
    return row === undefined ? undefined : decodeUpdate(codec, row, row.slice(width), isChanged(row));
  };
}

/** The parts of a store that write records and their events. */
type RecordWrites = Pick<Store, 'insert' | 'update' | 'remove' | 'restore' | 'writeMany'>;

/** Creates the writes of a store. */
export function createRecordWrites(statements: StoreStatements, database: Queryable): RecordWrites {
  const { resource, codec, statement, writes, batches, sharesTransaction, whereId } = statements;
  return {
    async insert(id, values, cause, times) {
      const fields = resource.fields.map((field) => codec.toColumn(field, values[field.name], id));
      const event = createEventValues(resource, 'created', cause);
      const insert =
        times === undefined
          ? statement(writes.insert, [id, ...fields, ...event])
          : statement(writes.insertWithTimes(), [id, ...fields, times.createdAt, times.updatedAt, ...event]);
      const rows = await database.write({ ...insert, sharesTransaction });
      return codec.fromRow(rows[0]!);
    },

    update: createUpdate(statements, database),

    async remove(id, conditions, cause, under) {
      const { params, where } = whereId(id, conditions);
      const text = writes.remove(where, params.values.length);
      const kept = archiveParameterValues(resource, cause.userId, under);
      const parameterValues = [...params.values, ...kept, ...createEventValues(resource, 'deleted', cause)];
      const [row] = await database.write(statement(text, parameterValues));
      return row === undefined ? undefined : codec.fromChange(row)[0];
    },

    async restore(id, changes, conditions, cause) {
      const { params, where } = whereId(id, conditions);
      const changed = resource.fields.filter((field) => Object.hasOwn(changes, field.name));
      const text = writes.restore(changed, where, params.values.length);
      const fields = changed.map((field) => codec.toColumn(field, changes[field.name], id));
      const [row] = await database.write(
        statement(text, [...params.values, ...fields, ...createEventValues(resource, 'restored', cause)]),
      );
      return row === undefined ? undefined : codec.fromChange(row)[0];
    },

    async writeMany(changes, cause, under) {
      const { text, values } = batches.write(changes, cause, under);
      return batches.read(changes, await database.write<unknown[]>(statement(text, values)));
    },
  };
}
