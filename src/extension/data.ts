// Stored data: records, tables and SQL, ids, encryption, tokens and files.
export type { FilesApi, StoredFile } from '../declare/file.ts';
export type {
  ExpandedRecord,
  PreparedFilter,
  RecordSubscription,
  ResourceGateway,
  StoredRecord,
} from '../declare/host.ts';
export type { Service } from '../declare/resource.ts';
export type { ActAs, AnyService, CallerTransaction, Page, Services, Transaction } from '../declare/service.ts';
export type { EncryptedColumn } from '../platform/data/crypto/encrypted-column.ts';
export type { Keyring } from '../platform/data/crypto/keyring.ts';
export { DecryptionError } from '../platform/data/crypto/keyring.ts';
export { generateSecret, generateToken, hashToken, isWellFormedToken } from '../platform/data/crypto/token.ts';
export { getOrCreateAvailability } from '../platform/data/postgres/availability.ts';
export type { DailyPartitions } from '../platform/data/postgres/daily-partitions.ts';
export {
  createPartitions,
  isInsufficientPrivilege,
  isLockTimeout,
} from '../platform/data/postgres/daily-partitions.ts';
export type { Database } from '../platform/data/postgres/database.ts';
export {
  bigint,
  boolean,
  customType,
  getTableConfig,
  index,
  integer,
  jsonb,
  partitionByDay,
  pgTable,
  primaryKey,
  sql,
  text,
  timestamptz,
  uniqueIndex,
  vacuumOften,
} from '../platform/data/postgres/drizzle.ts';
export { isStatementTimeout, isTransient } from '../platform/data/postgres/errors.ts';
export { quoteIdentifier } from '../platform/data/postgres/identifiers.ts';
export type { Executor, Queryable } from '../platform/data/postgres/queryable.ts';
export { retryWhileUnavailable } from '../platform/data/postgres/retry.ts';
export { readRowsInPages, scanRows } from '../platform/data/postgres/scan.ts';
export { assertOutsideTransaction, leaveTransaction } from '../platform/data/postgres/transaction-watch.ts';
export { createUsageRecorder } from '../platform/data/postgres/usage-recorder.ts';
export {
  isStorable,
  plainArrayLiteral,
  quoteLiteral,
  textArrayLiteral,
  UNSTORABLE,
} from '../platform/data/postgres/values.ts';
export { deleteUnlockedSql, writeInBatches } from '../platform/data/postgres/write-in-batches.ts';
export { isId, newId, parseCreatedMs } from '../platform/helpers/ids.ts';
export { tablesOf } from '../records/schema/table-names.ts';
export { markForSerialization } from '../records/serialize/serialize.ts';
