import type { StoredRecord } from '../../declare/host.ts';
import type { Queryable } from '../../platform/data/postgres/queryable.ts';
import type { AggregateSelection } from '../aggregate/sql.ts';
import type { Condition, DeletedUnderCondition, ListCondition, Position } from '../query/list-query.ts';
import type { WrittenByCondition } from '../query/sql/conditions.ts';
import type { SelectedList, Slice } from '../query/sql/list-statements.ts';
import type { RelatedList } from '../query/sql/related-statements.ts';
import type { WindowedList } from '../query/sql/search-window.ts';
import type { MeasuredPage } from '../query/sql/within-bytes.ts';
import type { Values } from '../schema/compiled.ts';
import type { Cause } from './event.ts';

/** Limits which records a write can reach. */
export type WriteCondition = Condition | DeletedUnderCondition | WrittenByCondition;

/** The times of a record that comes from another system, as ISO strings. */
export interface RecordTimes {
  createdAt: string;
  updatedAt: string;
}

/** How an update finds out whether it changes the record. */
interface ComparedUpdate {
  /** The record before the update, if it was loaded and cannot have changed since. */
  before?: StoredRecord | undefined;
  /** Whether the update counts as a change in any case. */
  isForced?: boolean;
}

/** One change of a batch. No two changes of a batch have the same id. */
export type BatchChange =
  | { action: 'created'; id: string; values: Values; times?: RecordTimes | undefined }
  | ({ action: 'updated'; id: string; values: Values } & Required<ComparedUpdate>)
  | { action: 'deleted'; id: string };

/** A changed record, after and before the change. */
export interface WriteResult {
  record: StoredRecord;
  previous: StoredRecord;
  /** Whether the record has changed. An update that changes nothing writes nothing and has no event. */
  isChanged: boolean;
}

/** A page of a search that examines only some rows. */
interface SearchedPage extends MeasuredPage<StoredRecord> {
  end: StoredRecord | undefined;
}

/** A record of a reverse relation, with the id of the record to which it refers. */
interface RelatedRecord {
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

/** The records of a resource in Postgres. No policy is applied here; `conditions` limit which records a call can reach. */
export interface Store extends RelatedReads {
  read(id: string, conditions?: readonly ListCondition[]): Promise<StoredRecord | undefined>;
  /** Records by id, in no particular order; unknown ids are left out. One query. */
  readMany(ids: readonly string[]): Promise<StoredRecord[]>;
  /**
   * Like `readMany`, up to a size.
   *
   * @param bytes called when the records are read; returns about how many bytes to read at most. The first record is always read
   * @returns the records, and their size in bytes as Postgres stores them
   */
  readManyWithin(
    ids: readonly string[],
    conditions: readonly Condition[],
    bytes: () => number,
  ): Promise<Omit<MeasuredPage<StoredRecord>, 'isCut'>>;
  /** A slice of a sorted list. @param slow whether the query may scan */
  list(selection: SelectedList, slice: Slice, slow: boolean): Promise<StoredRecord[]>;
  /**
   * Like `list`, up to a size.
   *
   * @param bytes called when the list is read; returns about how many bytes to read at most. The first record is always read
   */
  listWithin(
    selection: SelectedList,
    slice: Slice,
    slow: boolean,
    bytes: () => number,
  ): Promise<MeasuredPage<StoredRecord>>;
  /**
   * The position of a record in a list that is sorted by fields of referenced records; undefined if the record does not exist or does not meet the
   * conditions.
   */
  positionOf(
    id: string,
    sort: SelectedList['sort'],
    conditions: readonly ListCondition[],
  ): Promise<Position | undefined>;
  /** Counts a list. @param cap stop counting at this number */
  count(selection: SelectedList, slow: boolean, cap?: number): Promise<number>;
  /** Whether a slice of a list can begin in the range that holds its first row: see `Slice.byRanges`. The last count has shown it. */
  beginsInRange(selection: SelectedList, offset: number): boolean;
  /**
   * Like `listWithin`, for a search that examines only the next rows of the list.
   *
   * @returns also `end`, the last examined row, if the list may continue after it and the page includes all matches up to it
   */
  searchWithin(list: WindowedList, slice: Slice, bytes: () => number): Promise<SearchedPage>;
  /** Counts the matches of such a search in the first rows of the list. `isFull`: more rows may follow. */
  countSearched(list: WindowedList): Promise<{ matches: number; isFull: boolean }>;
  /**
   * Computes aggregates. The columns of a row: the terms of `group`, the count if it is requested, the functions, the number of all groups,
   * the bytes of the row, and whether a following row was left out because of its size.
   *
   * @param bytes called when the statement is sent; returns about how many bytes to read at most
   */
  aggregate(selection: AggregateSelection, bytes: () => number): Promise<unknown[][]>;
  /** @param times left out: the time of the insert. Only for resources with timestamps */
  insert(id: string, values: Values, cause: Cause, times?: RecordTimes): Promise<StoredRecord>;
  /**
   * Updates a record. Encrypted values are compared in memory: without `before`, an update that changes nothing else takes a second statement.
   *
   * @returns undefined if no record with that id meets the conditions
   */
  update(
    id: string,
    changes: Values,
    conditions: readonly WriteCondition[],
    cause: Cause,
    compared?: ComparedUpdate,
  ): Promise<WriteResult | undefined>;
  /**
   * Deletes a record; with soft delete, moves the record to the archive.
   *
   * @param under the privileges of a viewer who deletes a record of another owner; stored in the archive
   */
  remove(
    id: string,
    conditions: readonly WriteCondition[],
    cause: Cause,
    under: readonly string[],
  ): Promise<StoredRecord | undefined>;
  /** Restores a record from the archive with some values changed. The conditions apply to the archived row. */
  restore(
    id: string,
    changes: Values,
    conditions: readonly WriteCondition[],
    cause: Cause,
  ): Promise<StoredRecord | undefined>;
  /**
   * Writes changes and their events, in order, in one statement. The caller has locked the records that it updates or deletes. Updates that change
   * nothing are left out.
   *
   * @param under the privileges of a viewer who deletes records of other owners; stored in the archive
   * @returns a result per change; undefined for a record that conflicts with another one and was not created
   */
  writeMany(
    changes: readonly BatchChange[],
    cause: Cause,
    under: readonly string[],
  ): Promise<(WriteResult | undefined)[]>;
  /**
   * Locks records against concurrent changes until the transaction ends, in the order of their ids, and reads them.
   *
   * @param limits `rows`: the maximum number of records; `bytes`: about how many bytes to read at most
   */
  lockMany(
    conditions: readonly ListCondition[],
    limits: { rows: number; bytes: number },
  ): Promise<MeasuredPage<StoredRecord>>;
  /**
   * Whether a record in memory, or a deleted one, meets conditions; a promise if that depends on related records.
   *
   * @param unknown fields of the record whose values are unknown: conditions on them count as met
   */
  meets(
    conditions: readonly Condition[],
    record: StoredRecord,
    unknown?: ReadonlySet<string>,
  ): boolean | Promise<boolean>;
  /**
   * Locks a record against concurrent changes until the transaction ends, and reads it; undefined if no record with that id meets the conditions. Other
   * transactions may still write records that refer to it.
   */
  readLocked(id: string, conditions: readonly WriteCondition[]): Promise<StoredRecord | undefined>;
  /** Locks a record against concurrent changes until the transaction ends. Returns false if no record with that id meets the conditions. */
  lock(id: string, conditions?: readonly WriteCondition[]): Promise<boolean>;
  /** The same records through the connection of a transaction. */
  on(database: Queryable): Store;
}
