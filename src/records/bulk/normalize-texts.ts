import type { Database } from '../../platform/data/postgres/database.ts';
import { findViolatedConstraint } from '../../platform/data/postgres/errors.ts';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { isStoredInNfc } from '../fields/text-rules.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import { fieldsOfUniqueIndex } from '../schema/indexes.ts';
import { archiveTable } from '../schema/table-names.ts';

const ROWS_PER_BATCH = 2000;

/** A record that keeps its text, because another one has the same text in NFC and the field is unique. */
export interface NormalizationConflict {
  resource: string;
  id: string;
  fields: readonly string[];
}

/** The result for one resource. */
export interface NormalizedResource {
  resource: string;
  /** Records with at least one text that is not in NFC. */
  found: number;
  /** Records whose texts are now in NFC. */
  normalized: number;
}

/** How `normalizeTexts` runs. */
export interface NormalizationOptions {
  /** Counts the records, and changes nothing. */
  dryRun?: boolean;
  signal?: AbortSignal;
  onConflict?(conflict: NormalizationConflict): void;
  /** Called when the records of a resource have been read. */
  onResource?(result: NormalizedResource): void;
}

/** The fields whose texts are stored in NFC and readable by SQL. Texts in JSON and ciphertexts are never compared. */
function normalizedFields({ fields }: CompiledResource): CompiledField[] {
  return fields.filter(
    ({ spec, columnType }) =>
      isStoredInNfc(spec.inner?.spec ?? spec) && !spec.encrypted && ['text', 'text[]'].includes(columnType.sql),
  );
}

function staleSql({ column, columnType }: CompiledField): string {
  const text = quoteIdentifier(column);
  if (columnType.sql === 'text') return `${text} is not nfc normalized`;
  return `exists (select from unnest(${text}) _item where _item is not nfc normalized)`;
}

function assignmentSql({ column, columnType }: CompiledField): string {
  const text = quoteIdentifier(column);
  if (columnType.sql === 'text') return `${text} = normalize(${text})`;
  const items = `array(select normalize(_item) from unnest(${text}) with ordinality _items(_item, _place) order by _place)`;
  return `${text} = case when ${text} is not null then ${items} end`;
}

/** The statements for a table. */
function createStatements(table: string, fields: readonly CompiledField[]) {
  const columns = fields.map(({ column }) => quoteIdentifier(column)).join(', ');
  const stale = fields.map(staleSql).join(' or ');
  return {
    // $1: the last id of the previous page. It reads a page of the primary key: each statement is short, however few records it finds.
    find: `select max("id"), array_agg("id") filter (where ${stale})
      from (select "id", ${columns} from ${quoteIdentifier(table)} where "id" > $1 order by "id" limit ${ROWS_PER_BATCH}) _page`,
    update: `update ${quoteIdentifier(table)} set ${fields.map(assignmentSql).join(', ')} where "id" = any($1) and (${stale}) returning "id"`,
  };
}

/**
 * Stores the texts of existing records in NFC, in short statements. Writes are allowed while it runs. It emits no events and sets no new
 * times on the records, because the text stays the same.
 */
export async function normalizeTexts(
  database: Pick<Database, 'write' | 'readSlowly'>,
  resources: readonly CompiledResource[],
  { dryRun = false, signal, onConflict, onResource }: NormalizationOptions,
): Promise<void> {
  /** Updates records, one by one if not all can be updated. Returns the number of updated ones. */
  async function update(resource: CompiledResource, text: string, ids: readonly string[]): Promise<number> {
    try {
      return (await database.write({ text, values: [ids] })).length;
    } catch (error) {
      const constraint = findViolatedConstraint(error);
      if (constraint === undefined) throw error;
      if (ids.length === 1) {
        const fields = fieldsOfUniqueIndex(resource, constraint).map(({ name }) => name);
        onConflict?.({ resource: resource.name, id: ids[0]!, fields });
        return 0;
      }
      let updated = 0;
      for (const id of ids) updated += await update(resource, text, [id]);
      return updated;
    }
  }

  async function normalizeTable(resource: CompiledResource, table: string, fields: readonly CompiledField[]) {
    const { find, update: text } = createStatements(table, fields);
    const result = { found: 0, normalized: 0 };
    for (let after = ''; !signal?.aborted; ) {
      const [row] = await database.readSlowly<[string | null, string[] | null]>({ text: find, values: [after] });
      const [last, ids] = row!;
      if (last === null) break;
      result.found += ids?.length ?? 0;
      if (ids !== null && !dryRun) result.normalized += await update(resource, text, ids);
      after = last;
    }
    return result;
  }

  for (const resource of resources) {
    const fields = normalizedFields(resource);
    if (fields.length === 0 || signal?.aborted) continue;
    const total = { resource: resource.name, found: 0, normalized: 0 };
    for (const table of resource.softDelete ? [resource.table, archiveTable(resource.table)] : [resource.table]) {
      const { found, normalized } = await normalizeTable(resource, table, fields);
      total.found += found;
      total.normalized += normalized;
    }
    onResource?.(total);
  }
}
