import type { StoredRecord } from '../../declare/host.ts';
import { allowsEveryRecord } from '../../declare/policy.ts';
import { quoteIdentifier } from '../../platform/postgres/identifiers.ts';
import type { OperationContext } from '../access/operation-context.ts';
import { isRecordVisible } from '../access/visibility.ts';
import type { Entity, RecordsContext } from '../context.ts';
import { scopeConditions } from '../query/scope.ts';
import { conditionSql, createSqlParameters, type Parameters } from '../query/sql.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { rowJsonSql } from '../store/event.ts';

/** Records of one resource to look up by id. */
export interface LookUp {
  /** The name of the resource. */
  target: string;
  ids: Set<string>;
  /** Whether to decide which of the records the caller may know of. */
  judges: boolean;
  /** Whether to lock the records, so that they are not deleted before the end of the transaction. */
  locks: boolean;
}

/** The records that exist, by id: whether the caller may know of the record. */
type FoundRecords = Map<string, boolean>;

/** Whether the caller may know of every record in their scope: they may read it, or see it expanded in other records. */
function knowsEveryRecord({ policies }: CompiledResource, { user }: OperationContext): boolean {
  return allowsEveryRecord(policies.read, user) || allowsEveryRecord(policies.reference, user);
}

async function isKnown(entity: Entity, record: StoredRecord, operation: OperationContext): Promise<boolean> {
  return (
    (await isRecordVisible(entity, 'read', record, operation)) ||
    (await isRecordVisible(entity, 'reference', record, operation))
  );
}

/** The select of one look-up: its index, the id, whether the record is in scope, and the record if a policy needs it. */
async function selectSql(
  context: RecordsContext,
  { target, ids, judges, locks }: LookUp,
  index: number,
  params: Parameters,
  operation: OperationContext,
): Promise<string> {
  const { resource } = context.entities.get(target)!;
  const scope = judges ? await scopeConditions(resource, operation, 'visibility') : [];
  const found = `from ${quoteIdentifier(resource.table)} _row where "id" = any(${params.add([...ids])}::text[])`;
  const inScope = scope.map((condition) => conditionSql(resource, condition, params, '_row')).join(' and ') || 'true';
  const record = judges && !knowsEveryRecord(resource, operation) ? rowJsonSql(resource, '_row') : 'null::jsonb';
  const rows = `select ${index} as "_at", "id", coalesce((${inScope}), false) as "_in_scope", ${record} as "_record" ${found}`;
  return `select * from (${rows}${locks ? ' order by "id" for key share' : ''}) _found_${index}`;
}

/** Looks up records by id: one statement for all resources. */
export async function lookUpRecords(
  context: RecordsContext,
  lookUps: readonly LookUp[],
  operation: OperationContext,
): Promise<Map<LookUp, FoundRecords>> {
  const params = createSqlParameters();
  const selects: string[] = [];
  for (const [i, lookUp] of lookUps.entries()) selects.push(await selectSql(context, lookUp, i, params, operation));
  const statement = context.statement(selects.join(' union all '), params.values);
  type Row = [at: number, id: string, inScope: boolean, record: Record<string, unknown> | null];
  const { database } = context;
  const rows = lookUps.some(({ locks }) => locks)
    ? await database.write<Row>(statement)
    : await database.read<Row>(statement);
  const found = new Map(lookUps.map((lookUp): [LookUp, FoundRecords] => [lookUp, new Map()]));
  for (const [at, id, inScope, json] of rows) {
    const lookUp = lookUps[at]!;
    const entity = context.entities.get(lookUp.target)!;
    const known = inScope && (json === null || (await isKnown(entity, entity.codec.fromRowJson(json), operation)));
    found.get(lookUp)!.set(id, known);
  }
  return found;
}
