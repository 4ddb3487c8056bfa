import type { Database } from '../../postgres/database.ts';
import type { EncryptedColumn } from '../encrypted-column.ts';
import { CIPHERTEXT_PREFIX, ciphertextPrefix } from '../keyring.ts';
import type { EncryptedPlace, Replacement } from './encrypted-place.ts';

/** The maximum number of outbox rows that one statement reads; each row contains one or two records. */
const PAGE = 500;

const WHOLE = 'select max(id) from outbox';

// In all statements $1 and $2 are the range of ids: after $1, up to and including $2.
const REST = 'outbox where id > $1 and id <= $2 order by id';

// All values of encrypted columns in a page of events. $3 rows, $4 resources, $5 their columns. Each record is expanded once: looking
// up its columns one by one would decompress it once per column.
const VALUES = `
  page as materialized (select id, resource, record_id, payload from ${REST} limit $3),
  stored as (
    select page.id, page.record_id, p.n::int - 1 as n, part, value as text
    from page cross join lateral jsonb_each(page.payload) as parts(part, columns)
    cross join lateral jsonb_each_text(case when jsonb_typeof(columns) = 'object' then columns end) as c(name, value)
    join unnest($4::text[], $5::text[]) with ordinality as p(resource, name, n) on p.resource = page.resource and p.name = c.name
    where part in ('record', 'previous') and value <> ''
  )`;

// Counts values by column and key. One more row, without a column, has the last id of the page.
const COUNT = `
  with ${VALUES}
  select n, substring(left(text, ${CIPHERTEXT_PREFIX.length}) from '${CIPHERTEXT_PREFIX.pattern}') as key, count(*)::int, null::bigint
  from stored group by 1, 2
  union all select null, null, null, max(id) from page`;

// $6: the prefix of ciphertexts of the newest key.
const STALE = `
  with ${VALUES}
  select id, record_id, n, part, text from stored where left(text, ${CIPHERTEXT_PREFIX.length}) <> $6 order by id`;

const SKIP = `select id from ${REST} offset ${PAGE - 1} limit 1`;

// $1: ids, $2 and $3: the record's columns before and after, $4 and $5: those of the previous record. Skips rows that a relay has locked.
const REPLACE = `
  with free as materialized (
    select v.* from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[])
      as v(id, old_record, record, old_previous, previous) join outbox o on o.id = v.id
    order by o.id for no key update of o skip locked
  )
  update outbox o set payload = o.payload
    || case jsonb_typeof(o.payload->'record') when 'object'
      then jsonb_build_object('record', o.payload->'record' || free.record::jsonb) else '{}' end
    || case jsonb_typeof(o.payload->'previous') when 'object'
      then jsonb_build_object('previous', o.payload->'previous' || free.previous::jsonb) else '{}' end
  from free where o.id = free.id and coalesce(o.payload->'record', '{}') @> free.old_record::jsonb
    and coalesce(o.payload->'previous', '{}') @> free.old_previous::jsonb
  returning o.id`;

/** Returns a JSON object that maps the columns of one part of an event, `record` or `previous`, to the texts of `text`. */
function buildColumnPatch(
  values: readonly Replacement[],
  part: string,
  text: (value: Replacement) => string | null,
): string {
  const ofPart = values.filter(({ slot }) => slot === part);
  return JSON.stringify(Object.fromEntries(ofPart.map((value) => [value.column.column, text(value)])));
}

/**
 * The events that wait in the outbox: they contain records as stored, including ciphertexts.
 *
 * @param columns the encrypted columns; only those of resources are used
 */
export function createOutboxPlace(database: Database, columns: readonly EncryptedColumn[]): EncryptedPlace {
  const resourceColumns = columns.filter(({ resource }) => resource !== undefined);
  const where = [resourceColumns.map(({ resource }) => resource), resourceColumns.map(({ column }) => column)];

  return {
    table: 'outbox',
    receivesRows: false,
    canDiscard: true,

    async findRowRange() {
      const [row] = await database.write<[number | null]>({ text: WHOLE, values: [] });
      return row![0] === null ? undefined : { after: '0', last: String(row![0]) };
    },

    async count({ after, last }) {
      const rows = await database.write<[number | null, string | null, number, number | null]>({
        text: COUNT,
        values: [after, last, PAGE, ...where],
      });
      const counts = rows.flatMap(([n, keyId, count]) =>
        n === null ? [] : [{ name: `outbox: ${resourceColumns[n]!.name}`, keyId, count }],
      );
      const at = rows.find(([n]) => n === null)?.[3];
      return { counts, at: at === null || at === undefined ? undefined : String(at) };
    },

    async findStaleValues({ after, last }, keyId) {
      const rows = await database.write<[number, string, number, string, string]>({
        text: STALE,
        values: [after, last, PAGE, ...where, ciphertextPrefix(keyId)],
      });
      return rows.map(([id, recordId, n, part, text]) => ({
        row: String(id),
        slot: part,
        column: { ...resourceColumns[n]!, name: `outbox: ${resourceColumns[n]!.name}` },
        id: recordId,
        text,
      }));
    },

    async findLastScannedRow({ after, last }) {
      const [row] = await database.write<[number]>({ text: SKIP, values: [after, last] });
      return row === undefined ? undefined : String(row[0]);
    },

    async replaceValues(replacements) {
      const rows = [...Map.groupBy(replacements, ({ row }) => row)];
      const oldPatches = (part: string) => rows.map(([, values]) => buildColumnPatch(values, part, ({ text }) => text));
      const newPatches = (part: string) => rows.map(([, values]) => buildColumnPatch(values, part, ({ next }) => next));
      const replaced = await database.write<[number]>({
        text: REPLACE,
        values: [
          rows.map(([id]) => id),
          oldPatches('record'),
          newPatches('record'),
          oldPatches('previous'),
          newPatches('previous'),
        ],
      });
      const done = new Set(replaced.map(([id]) => String(id)));
      return replacements.filter(({ row }) => done.has(row)).length;
    },
  };
}
