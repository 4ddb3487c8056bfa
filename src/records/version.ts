import type { StoredRecord } from '../declare/host.ts';
import type { Macs } from '../platform/crypto/mac.ts';
import type { CompiledResource } from './compiled.ts';
import { resourceOf } from './stored.ts';

// Of a record without timestamps: 128 bits.
const MAC_DIGITS = 32;
const YEAR_10000 = Date.UTC(10_000, 0);

/** What tells one state of a record from all others that it ever has, in digits and small letters. */
export type VersionOf = (record: StoredRecord) => string;

/** The version of a record that was last changed then (ISO 8601): no two changes of a record share a millisecond. */
export function versionOfTime(time: string): string {
  return Date.parse(time).toString(36);
}

/** The time behind a version, ISO 8601; undefined for what can't be one. */
export function timeOfVersion(version: string): string | undefined {
  const time = Number.parseInt(version, 36);
  if (time.toString(36) !== version || !(time >= 0 && time < YEAR_10000)) return undefined;
  return new Date(time).toISOString();
}

/**
 * How records of a resource are told apart by version: by their last change; without timestamps by all that is in them, keyed,
 * since hidden fields are among it and nobody may find them out by trying.
 */
export function createVersionOf({ name, fields, timestamps }: CompiledResource, macs: Macs): VersionOf {
  if (timestamps) return (record) => versionOfTime(record.updatedAt as string);
  return (record) => {
    const values = fields.map((field) => record[field.name] ?? null);
    return macs.of(JSON.stringify([record.id, ...values]), `version of ${name}`).slice(0, MAC_DIGITS);
  };
}

/** The version of a stored record of any resource; undefined for what is none. */
export function versionOf(entities: ReadonlyMap<string, { versionOf: VersionOf }>, value: unknown): string | undefined {
  const name = typeof value === 'object' && value !== null ? resourceOf(value) : undefined;
  return name === undefined ? undefined : entities.get(name)!.versionOf(value as StoredRecord);
}
