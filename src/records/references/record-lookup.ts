import type { StoredRecord } from '../../declare/host.ts';
import { allowsEveryRecord } from '../../declare/policy.ts';
import type { Statement } from '../../platform/data/postgres/connection.ts';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import type { Queryable } from '../../platform/data/postgres/queryable.ts';
import type { OperationContext } from '../access/operation-context.ts';
import { scopeConditions } from '../access/scope.ts';
import { isRecordVisible } from '../access/visibility.ts';
import { conditionSql, createSqlParameters, type Parameters } from '../query/sql/conditions.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import type { Entity, EntityContext } from '../store/entity.ts';
import { rowJsonSql } from '../store/event.ts';

/** What look-ups of references need. */
export interface LookupContext extends EntityContext {
  /** Runs the statements of the operations: on the app's connections, or in the transaction. */
  database: Queryable;
  /** Names a statement of operations on several resources: Postgres then prepares it once per connection. */
  statement(text: string, values: unknown[]): Statement;
}

/** Records of one resource to look up by id. */
export interface RecordLookup {
  /** The name of the resource. */
  target: string;
  ids: Set<string>;
  /** Whether to find out which of the records are visible to the caller. */
  checksVisibility: boolean;
  /** Whether to lock the records. They cannot be deleted before the end of the transaction then. */
  locks: boolean;
}

/** The records that exist, by id: whether the record is visible to the caller. */
type FoundRecords = Map<string, boolean>;

/** Whether the policies let the caller see every record in their scope: by a read, or expanded in other records. */
function seesEveryRecord({ policies }: CompiledResource, { user }: OperationContext): boolean {
  return allowsEveryRecord(policies.read, user) || allowsEveryRecord(policies.reference, user);
}

async function isVisibleToCaller(entity: Entity, record: StoredRecord, operation: OperationContext): Promise<boolean> {
  return (
    (await isRecordVisible(entity, 'read', record, operation)) ||
    (await isRecordVisible(entity, 'reference', record, operation))
  );
}

/** The select of one lookup: its index, the id, whether the record is in scope, and the record if a policy needs it. */
async function selectSql(
  context: LookupContext,
  { target, ids, checksVisibility, locks }: RecordLookup,
  index: number,
  params: Parameters,
  operation: OperationContext,
): Promise<string> {
  const { resource } = context.entities.get(target)!;
  const scope = checksVisibility ? await scopeConditions(resource, operation, 'visibility') : [];
  const found = `from ${quoteIdentifier(resource.table)} _row where "id" = any(${params.add([...ids])}::text[])`;
  const inScope = scope.map((condition) => conditionSql(resource, condition, params, '_row')).join(' and ') || 'true';
  const record =
    checksVisibility && !seesEveryRecord(resource, operation) ? rowJsonSql(resource, '_row') : 'null::jsonb';
  const rows = `select ${index} as "_at", "id", coalesce((${inScope}), false) as "_in_scope", ${record} as "_record" ${found}`;
  return `select * from (${rows}${locks ? ' order by "id" for key share' : ''}) _found_${index}`;
}

/** Looks up records by id: one statement for all resources. */
export async function lookUpRecords(
  context: LookupContext,
  lookups: readonly RecordLookup[],
  operation: OperationContext,
): Promise<Map<RecordLookup, FoundRecords>> {
  const params = createSqlParameters();
  const selects: string[] = [];
  for (const [i, lookup] of lookups.entries()) selects.push(await selectSql(context, lookup, i, params, operation));
  const statement = context.statement(selects.join(' union all '), params.values);
  type Row = [at: number, id: string, inScope: boolean, record: Record<string, unknown> | null];
  const { database } = context;
  const rows = lookups.some(({ locks }) => locks)
    ? await database.write<Row>(statement)
    : await database.read<Row>(statement);
  const found = new Map(lookups.map((lookup): [RecordLookup, FoundRecords] => [lookup, new Map()]));
  for (const [at, id, inScope, json] of rows) {
    const lookup = lookups[at]!;
    const entity = context.entities.get(lookup.target)!;
    const isVisible =
      inScope && (json === null || (await isVisibleToCaller(entity, entity.codec.fromRowJson(json), operation)));
    found.get(lookup)!.set(id, isVisible);
  }
  return found;
}
