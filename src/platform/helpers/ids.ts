import { randomBytes, randomInt } from 'node:crypto';

const COUNTER_VALUES = 0x1_00_00_00;

// Of this process, so that two processes never create the same id.
const random = randomBytes(5).toString('hex');
let counter = randomInt(COUNTER_VALUES);

const toHex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');

/**
 * A new id: 24 hex characters, time-ordered (4-byte seconds, 5 random bytes, 3-byte counter). It has the format of a BSON ObjectId:
 * https://www.mongodb.com/docs/manual/reference/bson-types/#objectid
 */
export function newId(): string {
  counter = (counter + 1) % COUNTER_VALUES;
  return toHex(Math.floor(Date.now() / 1000), 8) + random + toHex(counter, 6);
}

const ID = /^[0-9a-f]{24}$/;

/** Whether `value` has the form of an id. Ids are lower case: the same id in upper case is not valid. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

/** Returns the time at which an id was created, in epoch ms, to the second. */
export function parseCreatedMs(id: string): number {
  return Number.parseInt(id.slice(0, 8), 16) * 1000;
}
