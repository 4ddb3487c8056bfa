import { isStorable, UNSTORABLE } from '../../platform/data/postgres/values.ts';
import { type ApiError, type ErrorDetails, validationError } from '../../platform/helpers/errors.ts';
import { isId, newId } from '../../platform/helpers/ids.ts';
import { findExceededJsonLimit } from '../../platform/helpers/json/json-limits.ts';
import { NOT_A_DATE, parseFileDate } from '../../records/fields/types/date.ts';
import type { RecordsContext } from '../../records/operations/context.ts';
import { type CompiledResource, type Values, withoutPasswordFields } from '../../records/schema/compiled.ts';
import { validateInput } from '../../records/writes/validate.ts';
import { NO_PASSWORD } from '../passwords/password-hash.ts';

const MAX_HASH = 1024;

/** A validated user of another system. */
export interface ImportRow {
  id: string;
  values: Values;
  /** The hash from the other system, or `NO_PASSWORD`. */
  hash: string;
  /** ISO 8601; undefined means now. */
  createdAt: string | undefined;
  updatedAt: string | undefined;
}

function rejectRow(details: ErrorDetails): never {
  throw validationError(details);
}

function parseLine(line: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    // The check below rejects a line that is not JSON.
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    return rejectRow({ line: 'Must be a JSON object' });
  const excess = findExceededJsonLimit(Buffer.from(line), Number.POSITIVE_INFINITY);
  if (excess !== undefined) return rejectRow({ line: excess });
  return parsed as Record<string, unknown>;
}

function readOrCreateId(value: unknown): string {
  if (value === undefined || value === null) return newId();
  const id = String(value).toLowerCase();
  return isId(id) ? id : rejectRow({ id: 'Must be 24 hexadecimal digits, or omitted' });
}

function readPasswordHash(value: unknown): string {
  if (value === undefined || value === null) return NO_PASSWORD;
  if (typeof value !== 'string' || value.trim() === '')
    return rejectRow({ passwordHash: 'Must be a string, or omitted' });
  if (value.length > MAX_HASH) return rejectRow({ passwordHash: `Must be at most ${MAX_HASH} characters` });
  return isStorable(value) ? value : rejectRow({ passwordHash: UNSTORABLE });
}

function parseTimestamp(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  const date = typeof value === 'string' || typeof value === 'number' ? parseFileDate(value) : undefined;
  return date ?? rejectRow({ [name]: NOT_A_DATE });
}

/**
 * Creates a parser for lines of an import. A line has the fields of the user resource, validated by its rules, and optionally `id`
 * (or `_id`), `passwordHash`, `createdAt` and `updatedAt`.
 */
export function createRowParser(
  resource: CompiledResource,
  { service }: Pick<RecordsContext, 'service'>,
): (line: string) => Promise<ImportRow> {
  const rules = withoutPasswordFields(resource);
  const operation = { user: undefined, system: true, service };
  return async (line) => {
    const { id, _id, passwordHash, createdAt, updatedAt, ...fields } = parseLine(line);
    if ('password' in fields) rejectRow({ password: 'Must be omitted; pass its hash as passwordHash' });
    const values = await validateInput(rules, fields, operation, {
      unknownFields: 'reject',
      maxUnknown: Number.POSITIVE_INFINITY,
      updating: false,
    });
    return {
      id: readOrCreateId(id ?? _id),
      values,
      hash: readPasswordHash(passwordHash),
      createdAt: parseTimestamp(createdAt, 'createdAt'),
      updatedAt: parseTimestamp(updatedAt ?? createdAt, 'updatedAt'),
    };
  };
}

/** Returns the validation errors of a row by field; undefined if the error was not caused by the row. */
export function rowErrors(error: unknown): ErrorDetails | undefined {
  const { status, message, details } = error as ApiError;
  return status === 422 ? (details ?? { line: message }) : undefined;
}
