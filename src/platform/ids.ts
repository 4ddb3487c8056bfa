import { ObjectId } from 'bson';

/** A new id: 24 hex characters, time-ordered (4-byte seconds, 5 random bytes, 3-byte counter). */
export function newId(): string {
  return new ObjectId().toHexString();
}

const ID = /^[0-9a-f]{24}$/;

/** Whether `value` has the form of an id. Ids are lower case: the same id in upper case is not valid. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

/** Returns the time at which an id was created, in epoch ms, to the second. */
export function createdMsOf(id: string): number {
  return Number.parseInt(id.slice(0, 8), 16) * 1000;
}
