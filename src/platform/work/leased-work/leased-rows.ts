import type { Executor } from '../../data/postgres/queryable.ts';

/** A table whose rows are claimed under leases. */
interface LeasedTable {
  table: string;
  /** The columns of the key and, last, of the fence that counts claims, with their types: `$1`, `$2`, … of statements. */
  fence: Readonly<Record<string, string>>;
  /** The column of the end of the lease. */
  until: string;
  leaseSeconds: number;
  /** The condition of a claimed row that is not finished, without table alias. */
  open: string;
}

/**
 * Returns SQL of leases. `end`: the end of a lease that begins or is extended now. `held`: the condition of a write to a claimed row.
 * `renew`: the statement of `renewLeases`. `claim`: a statement that claims rows of the table, which has the alias `c`. It skips rows that
 * another transaction has locked, because that transaction is claiming or writing them.
 */
export function leaseSql({ table, fence, until, leaseSeconds, open }: LeasedTable) {
  const columns = Object.keys(fence);
  const key = columns.slice(0, -1);
  const count = columns.at(-1);
  const isSameSql = (names: readonly string[], other: string) =>
    names.map((name) => `c.${name} = ${other}.${name}`).join(' and ');
  const lists = Object.values(fence).map((type, i) => `$${i + 1}::${type}[]`);
  const end = `now() + interval '${leaseSeconds} seconds'`;
  return {
    end,
    held: [...columns.map((name, i) => `${name} = $${i + 1}`), open].join(' and '),
    renew: `
  update ${table} c set ${until} = ${end} from unnest(${lists.join(', ')}) with ordinality k(${columns.join(', ')}, n)
  where ${isSameSql(columns, 'k')} and ${open} returning k.n::int`,
    claim: (from: string, where: string, { set, returning }: { set: string; returning: string }) => `
  with due as (select ${key.map((name) => `c.${name}`).join(', ')} from ${from} where ${where} for update of c skip locked)
  update ${table} c set ${until} = ${end}, ${count} = c.${count} + 1, ${set} from due where ${isSameSql(key, 'due')}
  returning ${returning}`,
  };
}

/** Extends leases, and returns those that are still held. @param fenceOf returns the values of the fence's columns */
export async function renewLeases<Lease>(
  database: Executor,
  statement: { name?: string; text: string },
  leases: readonly Lease[],
  fenceOf: (lease: Lease) => readonly unknown[],
): Promise<Lease[]> {
  const fences = leases.map(fenceOf);
  const values = fences[0]!.map((_, column) => fences.map((fence) => fence[column]));
  const held = await database.write<[position: number]>({ ...statement, values });
  return held.map(([position]) => leases[position - 1]!);
}
