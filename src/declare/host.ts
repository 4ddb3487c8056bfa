import type { Request } from 'express';
import type { MailSender } from '../platform/mail/sender.ts';
import type { MailTextRenderer } from '../platform/mail/texts/index.ts';
import type { Platform } from '../platform/platform.ts';
import type { BulkRecords } from './bulk.ts';
import type { FilesApi } from './file.ts';
import type { DeclaredJob } from './job-queue.ts';
import type { JobOverview } from './job-record.ts';
import type { CompiledPolicy, Viewer } from './policy.ts';
import type { PushSender, SimulatedDevices } from './push.ts';
import type { AnyResource } from './resource.ts';
import type { Senders } from './senders.ts';
import type { CallerTransaction, Services, Transact, Transaction } from './service.ts';

/** Rows about users outside of resources: sessions, devices, keys, endpoints. */
export interface UserData {
  /** Plural, in camelCase: `apiKeys`. Names its file in an export and its line in a report. */
  name: string;
  /** A description of the data, for people. */
  description: string;
  /** The tables that hold the data, for the report. */
  tables?: readonly string[];
  /** Why an erasure keeps some of the data, as a text for people; left out: an erasure keeps none. */
  kept?: string;
  /** All data about a user for an export, without secrets or hashes. Read from the database in pages. */
  rows(userId: string): AsyncIterable<Record<string, unknown>>;
  /**
   * Refuses the erasure of a user before it starts, in the transaction that requests it.
   *
   * @throws ApiError CONFLICT that says what has to be done first
   */
  assertErasable?(userId: string, tx: CallerTransaction): Promise<void>;
  /** Deletes or anonymizes the data in bounded batches. Idempotent. Returns the number of rows that were deleted or anonymized. */
  erase(userId: string): Promise<number>;
}

/** A record as stored, with every field except passwords. Created by the codec of its resource (src/records/store/codec.ts). */
export interface StoredRecord {
  id: string;
  [field: string]: unknown;
}

/** The viewer of a record, and the request through which it is viewed. */
export interface ViewContext {
  user: Viewer | undefined;
  req?: Request | undefined;
  /** The `service` argument of scope and policy functions; left out: the app's services. */
  service?: Services;
  /** Caches reads while the same change is serialized for several viewers: each read runs only once. */
  sharedReads?: Map<string, Promise<StoredRecord[]>> | undefined;
}

/** A record that is expanded in place of a reference. */
export interface ExpandedRecord {
  resource: string;
  id: string;
}

/** A record that was serialized earlier, by `serialize`, and its current state. */
export interface PreviousSerialization {
  data: Readonly<Record<string, unknown>>;
  /** The current record; for a deleted one, its last state. Undefined if the record is unknown, or if `needsRecord` returned false. */
  record: StoredRecord | undefined;
  /** Returns the current state of a record that is expanded in `data`; undefined if it no longer exists. */
  find(resource: string, id: string): StoredRecord | undefined;
}

/** The records of a resource that a viewer subscribes to. */
export interface SubscriptionRequest {
  /** A single record; undefined to subscribe to the records of a list. */
  id: string | undefined;
  /** The filters of a list, by query parameter: `{ status: 'open' }`. */
  filters: Readonly<Record<string, unknown>>;
  /** Whether a client resumes an earlier subscription. It is then not refused if its record has been deleted since. */
  resumed?: boolean;
}

/** A viewer's subscription to records. */
export interface RecordSubscription {
  /** Subscriptions with equal keys include the same records. */
  key: string;
  /**
   * Whether list policy and filters include this state of a record; a promise if that depends on related records. Read access is not
   * checked: use `readableBy` of the gateway.
   */
  includes(record: StoredRecord): boolean | Promise<boolean>;
  /**
   * Whether list policy and filters may include a record whose values of the fields in `unknown` are not known. Filters on these
   * fields count as met.
   */
  mayInclude(record: StoredRecord, unknown: ReadonlySet<string>): Promise<boolean>;
}

/** Filters of a list, to test single records. */
export interface FilterRequest {
  /** The filters by query parameter: `{ 'total[gte]': '100' }`. */
  filters: Readonly<Record<string, string>>;
  /** Fields of which an update must have changed at least one; empty or left out: no such condition. */
  changed?: readonly string[] | undefined;
}

/** Filters that test single records for a viewer, as a list of this viewer would. */
export interface PreparedFilter {
  /**
   * Why the viewer may not use a filter, by query parameter: an unknown field, a value of the wrong type, or a field that the viewer sees in no
   * record. `changed` for the condition on changes. If there are errors, no record meets the filters.
   */
  errors: Readonly<Record<string, string>>;
  /**
   * Whether this state of a record meets the filters; a promise if that depends on related records. Read access is not checked.
   *
   * @param hasChanged whether the update changed a field
   */
  includes(record: StoredRecord, hasChanged: (field: string) => boolean): boolean | Promise<boolean>;
  /** Returns the query parameter of a filter that the record does not meet, or `changed`; undefined if it meets all. */
  findUnmet(record: StoredRecord, hasChanged: (field: string) => boolean): Promise<string | undefined>;
}

/** What a viewer may use in filters of a resource. */
export interface FilterFields {
  /** The fields of the resource with the operators of their filters. */
  filters: { field: string; operators: string[] }[];
  /** The fields whose changes may be a condition. */
  changed: string[];
}

/**
 * The compiled access to a resource: the only way for a record to leave the system, whatever the channel. HTTP responses, webhook payloads,
 * realtime and exports all get their data through it.
 */
export interface ResourceGateway {
  readonly name: string;
  readonly declaration: AnyResource;
  readonly readPolicy: CompiledPolicy;
  /**
   * The version of a stored record, which distinguishes its state from all of its other states: digits and lowercase letters. Undefined if
   * it is unknown.
   */
  versionOf(record: StoredRecord): string | undefined;
  /** The id of the record's owner; undefined if the record has none. */
  ownerOf(record: StoredRecord): string | undefined;
  /** Whether this viewer may read the record: scope filter, then read policy. */
  readableBy(record: StoredRecord, viewContext: ViewContext): Promise<boolean>;
  /** Whether the record is inside this viewer's service scope filter. */
  inScope(record: StoredRecord, viewContext: ViewContext): Promise<boolean>;
  /**
   * Plans which of the given fields this viewer sees. The returned function decides for a record that the viewer may read. Hidden,
   * write-only and password fields are never visible.
   */
  visibleFields(
    names: ReadonlySet<string>,
    viewContext: ViewContext,
  ): (record: StoredRecord) => Promise<ReadonlySet<string>>;
  /** The records as `GET /api/<resource>/:id` would return them to this viewer, in the same order. */
  serialize(records: readonly StoredRecord[], viewContext: ViewContext): Promise<Record<string, unknown>[]>;
  /**
   * Whether this viewer may read all of some data that was serialized earlier: scope filter and read policy, and the visibility of each
   * field, also for the records that are expanded in the data. An expanded record that no longer exists is not readable.
   *
   * @param anyRecord true skips the read policy
   */
  stillReadable(before: PreviousSerialization, viewContext: ViewContext, anyRecord: boolean): Promise<boolean>;
  /** Whether `stillReadable` needs the record for this viewer. If not, the result of `stillReadable` is the same for all records. */
  needsRecord(viewer: Viewer | undefined, anyRecord: boolean): boolean;
  /** The records that are expanded in serialized data. */
  expandedIn(data: Readonly<Record<string, unknown>>): ExpandedRecord[];
  /** Whether serialized data contains values of `encrypted()` fields. */
  holdsEncrypted(data: Readonly<Record<string, unknown>>): boolean;
  /**
   * Subscribes a viewer to records.
   *
   * @throws ApiError the errors of a list or of reading a single record; BAD_REQUEST for a filter that this viewer may not use
   */
  subscribe(request: SubscriptionRequest, viewContext: ViewContext): Promise<RecordSubscription>;
  /** Prepares filters of a list, to test single records for a viewer. Rejects with the errors of scope functions of related records. */
  prepareFilter(request: FilterRequest, viewContext: ViewContext): Promise<PreparedFilter>;
  /** Returns the fields that a viewer may use in filters. */
  filterFields(viewContext: ViewContext): FilterFields;
  /**
   * Converts a serialized record back to a stored one. It lacks the fields that its viewer did not see; expanded references are ids again.
   */
  fromSerialized(data: Readonly<Record<string, unknown>>): StoredRecord;
  /**
   * The visibility key of a viewer. Viewers with equal keys see the same data of every record, except for the users that `ownersIn`
   * returns.
   */
  visibilityKey(viewer: Viewer | undefined): string;
  /** The ids of users with a wider view of a record than other viewers with the same visibility key. */
  ownersIn(record: StoredRecord): string[];
  /** The name of the resource's table. */
  readonly table: string;
  /** The name of the table that keeps the deleted records; undefined without soft delete. */
  readonly archiveTable: string | undefined;
  /** Returns the SQL select list for the resource's records; each column is qualified with the table alias. */
  columns(alias: string): string;
  /** Converts a row that was selected with `columns` to a record. */
  fromRow(row: readonly unknown[]): StoredRecord;
  /** The SQL expression for the JSON of a row of the table `alias`, as stored in events. */
  rowJson(alias: string): string;
  /** Converts a validated value to the parameter of its column. Encrypted values are bound to the record with that id. */
  toColumn(field: string, value: unknown, id: string): unknown;
  /** Converts the JSON of a record in the payload of an outbox row to a record. */
  fromOutbox(columns: Record<string, unknown>): StoredRecord;
  /**
   * Converts the JSON of a current row, selected with `rowJson`, to a record.
   *
   * @throws DecryptionError if a value cannot be decrypted, like `load`
   */
  fromRowJson(columns: Record<string, unknown>): StoredRecord;
  /**
   * Deletes or clears the records that refer to these records with `onDelete`, for a deletion that cannot be refused: `restrict` also
   * clears the reference. The caller locks the records before the call, and deletes them after it in the same transaction.
   */
  releaseReferences(ids: readonly string[], tx: Pick<Transaction, 'database' | 'afterCommit'>): Promise<void>;
  /** Stored records by id, without policy. Unknown ids are left out. */
  load(ids: readonly string[]): Promise<StoredRecord[]>;
}

/** What a feature or an extension works with: the platform and the compiled declarations of the app. */
export interface Host extends Platform {
  /** The records of a resource, for code. Throws for an unknown name. */
  service: Services;
  /** The resources of the app, in the order of their declaration. */
  resources: readonly ResourceGateway[];
  /** Imports, exports and changes of many records. */
  bulk: BulkRecords;
  /** The user resource if accounts are enabled. */
  users: ResourceGateway | undefined;
  push: PushSender;
  /** Undefined in production. */
  simulated: SimulatedDevices | undefined;
  mail: MailSender;
  /** The files of fields that `f.file` declares. */
  files: FilesApi;
  /** What hooks, route handlers and jobs get to send e-mails, publish events and enqueue jobs. */
  senders: Senders;
  /** The jobs that the app declares, by name. */
  declaredJobs: ReadonlyMap<string, DeclaredJob>;
  /** Reads the jobs and schedules that the app declares, with their state. */
  readJobOverview(): Promise<JobOverview>;
  /** Creates the texts of the built-in e-mails, in the language of the recipient. */
  mailTexts: MailTextRenderer;
  /** Changes records, and rows of the extension's own tables, together. */
  transaction: Transact;
  /**
   * The transaction in whose function or `before` hook the calling code runs; undefined outside of one. Writes that belong to the
   * transaction must use its `database`.
   */
  currentTransaction(): Pick<Transaction, 'database' | 'afterCommit'> | undefined;
}
