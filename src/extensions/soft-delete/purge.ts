import type { Host } from '../../declare/host.ts';
import type { Sweep } from '../../platform/outbox/relay.ts';
import { quoteIdentifier } from '../../platform/postgres/identifiers.ts';
import { removeInBatches } from '../../platform/postgres/write-in-batches.ts';

const EVERY_MS = 10 * 60_000;

function purgeSql(table: string): string {
  const name = quoteIdentifier(table);
  return `delete from ${name} where id in (
    select id from ${name} where deleted_at < now() - $1 * interval '1 day' order by deleted_at limit $2 for update skip locked
  ) returning 1`;
}

/** Creates one sweep for each resource that permanently removes records deleted more than `keepDays` ago. */
export function createPurgeSweep({ resources, database }: Host, keepDays: number): Sweep[] {
  return resources.flatMap(({ name, archiveTable }) => {
    if (archiveTable === undefined) return [];
    const text = purgeSql(archiveTable);
    const run = () => removeInBatches(database, text, [keepDays]);
    return [{ name: `deleted records of ${name}`, everyMs: EVERY_MS, run }];
  });
}
