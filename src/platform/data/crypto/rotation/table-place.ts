import type { Database } from '../../postgres/database.ts';
import { quoteIdentifier } from '../../postgres/identifiers.ts';
import type { EncryptedColumn } from '../encrypted-column.ts';
import { CIPHERTEXT_PREFIX, ciphertextPrefix } from '../keyring.ts';
import type { EncryptedPlace } from './encrypted-place.ts';

/** The maximum number of table rows that one statement reads. */
const PAGE = 5000;
/** The maximum number of rows in a batch, and the number of bytes after which a batch ends early. */
const BATCH = 500;
const BATCH_BYTES = 4 * 2 ** 20;

/**
 * Creates the place of the encrypted columns of a table.
 *
 * @param columns columns of the same table, at least one
 */
export function createTablePlace(database: Database, columns: readonly EncryptedColumn[]): EncryptedPlace {
  const { table, key = 'id' } = columns[0]!;
  const from = quoteIdentifier(table);
  const id = quoteIdentifier(key);
  const names = columns.map(({ column }) => quoteIdentifier(column));
  // `left` fetches only the start of a long value.
  const prefixSql = (name: string) => `left(${name}, ${CIPHERTEXT_PREFIX.length})`;
  const isStaleSql = (name: string) => `(${name} <> '' and ${prefixSql(name)} <> $3)`;

  const WHOLE = `select ${id} from ${from} order by ${id} desc limit 1`;

  // In all statements $1 and $2 are the range of keys. $3: rows. COUNT returns one more row, without a column, for the last id of a page.
  const remainingRowsSql = `${from} where ${id} > $1 and ${id} <= $2 order by ${id}`;
  const COUNT = `
  with page as materialized (
    select ${id} as id, ${names.map((name, i) => `${prefixSql(name)} as h${i}`).join(', ')} from ${remainingRowsSql} limit $3
  ), heads as (
    select n, head, count(*) as count
    from page cross join lateral (values ${names.map((_, i) => `(${i}, h${i})`).join(', ')}) as v(n, head) where head <> '' group by 1, 2
  )
  select n, substring(head from '${CIPHERTEXT_PREFIX.pattern}') as key, sum(count)::int, null as last from heads group by 1, 2
  union all select null, null, null, max(id) from page`;

  // $3: prefix of ciphertexts of the newest key, $4: rows to read, $5: maximum rows, $6: maximum bytes (at least one row). Stops reading once it has its
  // rows.
  const STALE = `
  select id, ${names.map((_, i) => `c${i}`).join(', ')} from (
    select id, ${names.map((_, i) => `c${i}`).join(', ')}, row_number() over (order by id) as place, sum(bytes) over (order by id) as bytes
    from (
      select id, ${names.map((name, i) => `case when ${isStaleSql(name)} then ${name} end as c${i}`).join(', ')},
        ${names.map((name) => `coalesce(octet_length(${name}), 0)`).join(' + ')} as bytes
      from (select ${id} as id, ${names.join(', ')} from ${remainingRowsSql} limit $4) page
      where ${names.map(isStaleSql).join(' or ')} order by id limit $5
    ) found
  ) counted where place = 1 or bytes <= $6 order by id`;

  const SKIP = `select ${id} from ${remainingRowsSql} offset ${PAGE - 1} limit 1`;

  // $1: ids, then old and new values by column; null: the column stays unchanged. Skips rows that are locked.
  const pairs = columns.map((_, i) => [`o${i}`, `n${i}`] as const);
  const places = Array.from({ length: 1 + 2 * columns.length }, (_, i) => `$${i + 1}::text[]`);
  const unchangedConditionsSql = (found: string) =>
    names.map((name, i) => `(${found}.o${i} is null or r.${name} = ${found}.o${i})`);
  const REPLACE = `
  with free as materialized (
    select v.* from unnest(${places.join(', ')}) as v(id, ${pairs.flat().join(', ')}) join ${from} r on r.${id} = v.id
    where ${unchangedConditionsSql('v').join(' and ')} order by r.${id} for no key update of r skip locked
  )
  update ${from} r set ${names.map((name, i) => `${name} = coalesce(free.n${i}, r.${name})`).join(', ')}
  from free where r.${id} = free.id and ${unchangedConditionsSql('free').join(' and ')}
  returning ${pairs.map(([, next]) => `(free.${next} is not null)::int`).join(' + ')}`;

  return {
    table,
    receivesRows: columns.some((column) => column.receivesRows),
    // Values belong to users, and a column may be not null: an operator decides about values of a lost key, and changes them with SQL.
    canDiscard: false,

    async findRowRange() {
      const [row] = await database.write<[string]>({ text: WHOLE, values: [] });
      return row === undefined ? undefined : { after: '', last: row[0] };
    },

    async count({ after, last }) {
      const rows = await database.write<[number | null, string | null, number, string | null]>({
        text: COUNT,
        values: [after, last, PAGE],
      });
      const counts = rows.flatMap(([n, keyId, count]) =>
        n === null ? [] : [{ name: columns[n]!.name, keyId, count }],
      );
      return { counts, at: rows.find(([n]) => n === null)?.[3] ?? undefined };
    },

    async findStaleValues({ after, last }, keyId) {
      const values = [after, last, ciphertextPrefix(keyId), PAGE, BATCH, BATCH_BYTES];
      const rows = await database.write<[string, ...(string | null)[]]>({ text: STALE, values });
      return rows.flatMap(([row, ...texts]) =>
        texts.flatMap((text, i) =>
          text === null ? [] : [{ row, slot: String(i), column: columns[i]!, id: row, text }],
        ),
      );
    },

    async findLastScannedRow({ after, last }) {
      const [row] = await database.write<[string]>({ text: SKIP, values: [after, last] });
      return row?.[0];
    },

    async replaceValues(replacements) {
      const rows = Map.groupBy(replacements, ({ row }) => row);
      const valuesBySlot = columns.map((_, i) =>
        [...rows.values()].map((values) => values.find(({ slot }) => slot === String(i))),
      );
      const texts = valuesBySlot.flatMap((slots) => [
        slots.map((value) => value?.text ?? null),
        slots.map((value) => value?.next ?? null),
      ]);
      const replaced = await database.write<[number]>({ text: REPLACE, values: [[...rows.keys()], ...texts] });
      return replaced.reduce((sum, [count]) => sum + count, 0);
    },
  };
}
