import type { Request } from 'express';
import type { MailSender } from '../platform/mail/sender.ts';
import type { Platform } from '../platform/platform.ts';
import type { CompiledPolicy, Viewer } from './policy.ts';
import type { PushSender, SimulatedDevices } from './push.ts';
import type { AnyResource } from './resource.ts';
import type { Services } from './service.ts';
import type { Transact, Transaction } from './transaction.ts';

/** Rows about users outside of resources: sessions, devices, keys, endpoints. */
export interface UserData {
  /** In camelCase and the plural: names its file in an export and its line in a report: `apiKeys`. */
  name: string;
  /** What it holds, for people. */
  description: string;
  /** The tables that it stands in, for the report. */
  tables?: readonly string[];
  /** Why some of it stays when it is erased, for people; left out: nothing does. */
  kept?: string;
  /** All that is held about a user, as an export tells it: no secrets, no hashes. A page at a time from the database. */
  rows(userId: string): AsyncIterable<Record<string, unknown>>;
  /** Removes it, or makes it nobody's, in bounded batches. Does no harm the second time. Gives how many rows. */
  erase(userId: string): Promise<number>;
}

/** A record as stored, every field included except passwords. Made by the resource that it belongs to. */
export interface StoredRecord {
  id: string;
  [field: string]: unknown;
}

/** Who looks at a record, and through which request. */
export interface ViewContext {
  user: Viewer | undefined;
  req?: Request | undefined;
  /** What scope and policy functions get as `service`; left out: that of the app. */
  service?: Services;
  /** What several who look at the same moment read alike is read once for all of them. */
  sharedReads?: Map<string, Promise<StoredRecord[]>> | undefined;
}

/** A record that is expanded in the place of a reference. */
export interface ExpandedRecord {
  resource: string;
  id: string;
}

/** What `serialize` made of a record at some earlier time. */
export interface SerializedBefore {
  data: Readonly<Record<string, unknown>>;
  /** The record as it is now, or as it was last. Undefined if it is unknown, or if `needsRecord` returned false. */
  record: StoredRecord | undefined;
  /** Finds the current records that are expanded in the data. */
  find(resource: string, id: string): StoredRecord | undefined;
}

/** Which records of a resource somebody follows. */
export interface SubscriptionRequest {
  /** A single record; undefined for those that a list would show. */
  id: string | undefined;
  /** The parameters of a list that are filters. */
  filters: Readonly<Record<string, unknown>>;
  /** Whether it was followed before: that a record is gone by now is no reason to refuse. */
  resumed?: boolean;
}

/** What a viewer follows. */
export interface RecordSubscription {
  /** Equal texts include the same records. */
  key: string;
  /** Whether list policy and filters leave a record, as it is given. Who may read it is another question: see `readableBy`. */
  includes(record: StoredRecord): boolean;
  /** Whether that may be so of a record of which the values of some fields are not known: any filter on one of those leaves it. */
  mayInclude(record: StoredRecord, unknown: ReadonlySet<string>): boolean;
}

/**
 * The compiled view of a resource: the one way by which a record leaves the system, whatever the channel. HTTP answers,
 * webhook payloads, realtime and exports all take their data through it.
 */
export interface ResourceGateway {
  readonly name: string;
  readonly declaration: AnyResource;
  readonly readPolicy: CompiledPolicy;
  /** The record's owner, or undefined when it has none. */
  ownerOf(record: StoredRecord): string | undefined;
  /** Whether this viewer may read the record: scope filter, then read policy. */
  readableBy(record: StoredRecord, viewContext: ViewContext): Promise<boolean>;
  /** Whether the record is inside the service scope filter of this viewer. */
  inScope(record: StoredRecord, viewContext: ViewContext): Promise<boolean>;
  /**
   * Plans which of some fields this viewer sees. The returned function decides for one record that they may read; hidden, write-only and
   * password fields are never visible.
   */
  visibleFields(
    names: ReadonlySet<string>,
    viewContext: ViewContext,
  ): (record: StoredRecord) => Promise<ReadonlySet<string>>;
  /** The records as this viewer would get them from `GET /api/<resource>/:id`, in the same order. */
  serialize(records: readonly StoredRecord[], viewContext: ViewContext): Promise<Record<string, unknown>[]>;
  /**
   * Whether this viewer may read all of some data that was serialized earlier: scope filter and read policy, the visibility of each
   * field, and the same for the records expanded in it. An expanded record that no longer exists is not readable.
   *
   * @param anyRecord whether the read policy is not asked
   */
  stillReadable(before: SerializedBefore, viewContext: ViewContext, anyRecord: boolean): Promise<boolean>;
  /** Whether `stillReadable` needs the record for this viewer: without it, all records are alike. */
  needsRecord(viewer: Viewer | undefined, anyRecord: boolean): boolean;
  /** The records that are expanded in serialized data. */
  expandedIn(data: Readonly<Record<string, unknown>>): ExpandedRecord[];
  /** Whether serialized data has values of `encrypted()` fields. */
  holdsEncrypted(data: Readonly<Record<string, unknown>>): boolean;
  /**
   * Begins to follow records, on behalf of a viewer.
   *
   * @throws ApiError as a list does, or the read of a single record; BAD_REQUEST for a filter that this viewer may not use
   */
  subscribe(followed: SubscriptionRequest, viewContext: ViewContext): Promise<RecordSubscription>;
  /** Viewers with equal keys are shown the same of every record, but for those whom `ownersIn` names. */
  visibilityKey(viewer: Viewer | undefined): string;
  /** Users who may be shown more of a record than others with the same key. */
  ownersIn(record: StoredRecord): string[];
  /** The name of its table. */
  readonly table: string;
  /** The name of the table of its deleted records, with soft delete. */
  readonly archiveTable: string | undefined;
  /** The select list of its records, each column of the table `alias`. */
  columns(alias: string): string;
  /** A row of that list as a record. */
  fromRow(row: readonly unknown[]): StoredRecord;
  /** The JSON of a row of the table `alias` as events hold it, as SQL. */
  rowJson(alias: string): string;
  /** A validated value of a field as the parameter of its column: what is encrypted is bound to the record with that id. */
  toColumn(field: string, value: unknown, id: string): unknown;
  /** The record in an outbox payload. */
  fromOutbox(columns: Record<string, unknown>): StoredRecord;
  /** Stored records by id, without policy. Unknown ids are left out. */
  load(ids: readonly string[]): Promise<StoredRecord[]>;
}

/** What a feature or an extension works with: the platform, and what the app's declarations became. */
export interface Host extends Platform {
  /** The records of a resource, for code. Throws for an unknown name. */
  service: Services;
  resources: readonly ResourceGateway[];
  /** The user resource when accounts are enabled. */
  users: ResourceGateway | undefined;
  push: PushSender;
  /** Undefined in production. */
  simulated: SimulatedDevices | undefined;
  mail: MailSender;
  transaction: Transact;
  /** The transaction in whose function, or `before` hook, the caller runs: what belongs to it is stored by its statements. */
  currentTransaction(): Pick<Transaction, 'database' | 'afterCommit'> | undefined;
}
