import type { StoredRecord } from '../../declare/host.ts';
import type { Statement } from '../../platform/data/postgres/connection.ts';
import type { Queryable } from '../../platform/data/postgres/queryable.ts';
import {
  createRelatedCountStatement,
  createRelatedStatement,
  type RelatedList,
} from '../query/sql/related-statements.ts';
import type { createPageWithinBytes, MeasuredPage } from '../query/sql/within-bytes.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import type { Codec } from './codec.ts';

/** A record of a reverse relation, with the id of the record that it refers to. */
export interface RelatedRecord {
  parent: string;
  record: StoredRecord;
}

/** Reads the records of reverse relations to a resource. */
export interface RelatedReads {
  /**
   * Reads the related records of several records, up to a size, in the order of the parents.
   *
   * @param limits `each`: for each parent; `total`: for all
   * @param bytes called when the records are read; returns about how many bytes to read at most
   */
  listRelatedWithin(
    list: RelatedList,
    limits: { each: number; total: number },
    bytes: () => number,
  ): Promise<MeasuredPage<RelatedRecord>>;
  /** Counts the related records of several records, for each up to `cap`. Returns the numbers by the id of the parent. */
  countRelated(list: RelatedList, cap: number): Promise<Map<string, number>>;
}

/** Creates the reads of a store's resource as the target of reverse relations. */
export function createRelatedReads(
  resource: CompiledResource,
  codec: Codec,
  database: Queryable,
  statement: (text: string, values: unknown[]) => Statement,
  withinBytes: ReturnType<typeof createPageWithinBytes>,
): RelatedReads {
  const width = codec.columns.split(', ').length;
  return {
    async listRelatedWithin(list, limits, bytes) {
      const { text, values } = createRelatedStatement(resource, codec.columns, list, limits);
      const within = withinBytes(text, `$${values.length + 1}::bigint`);
      const rows = await database.readList(() => statement(within, [...values, bytes()]));
      return {
        records: rows.map((row) => ({ parent: row[width] as string, record: codec.fromRow(row) })),
        bytes: rows.reduce((sum, row) => sum + (row[width + 1] as number), 0),
        isCut: rows.at(-1)?.[width + 2] === true,
      };
    },

    async countRelated(list, cap) {
      const { text, values } = createRelatedCountStatement(resource, list, cap);
      return new Map(await database.readList<[string, number]>(statement(text, values)));
    },
  };
}
