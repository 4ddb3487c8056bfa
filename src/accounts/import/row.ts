import { type ApiError, type ErrorDetails, validationError } from '../../platform/errors.ts';
import { exceededJsonLimit } from '../../platform/excessive-json.ts';
import { isId, newId } from '../../platform/ids.ts';
import { isStorable, UNSTORABLE } from '../../platform/postgres/storable.ts';
import type { RecordsContext } from '../../records/context.ts';
import { NO_DATE, parseDate } from '../../records/fields/date.ts';
import { type Values, validate } from '../../records/operations/validate.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import { NO_PASSWORD } from '../password-hash.ts';

const MAX_HASH = 1024;

/** A user of another system, checked. */
export interface ImportRow {
  id: string;
  values: Values;
  /** As the other system had it, or that there is no password. */
  hash: string;
  /** ISO 8601; undefined: now. */
  createdAt: string | undefined;
  updatedAt: string | undefined;
}

function fault(details: ErrorDetails): never {
  throw validationError(details);
}

function parse(line: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    // Said below.
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    return fault({ line: 'Must be a JSON object' });
  const excess = exceededJsonLimit(Buffer.from(line), Number.POSITIVE_INFINITY);
  if (excess !== undefined) return fault({ line: excess });
  return parsed as Record<string, unknown>;
}

function idOf(value: unknown): string {
  if (value === undefined || value === null) return newId();
  const id = String(value).toLowerCase();
  return isId(id) ? id : fault({ id: 'Must be 24 hexadecimal digits, or left out' });
}

function hashOf(value: unknown): string {
  if (value === undefined || value === null) return NO_PASSWORD;
  if (typeof value !== 'string' || value.trim() === '') return fault({ passwordHash: 'Must be a text, or left out' });
  if (value.length > MAX_HASH) return fault({ passwordHash: `Must be at most ${MAX_HASH} characters` });
  return isStorable(value) ? value : fault({ passwordHash: UNSTORABLE });
}

function timeOf(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  const date = typeof value === 'string' || typeof value === 'number' ? parseDate(value) : undefined;
  return date ?? fault({ [name]: NO_DATE });
}

/** The resource without its passwords: theirs are hashes, which no rule of a password fits. */
function withoutPasswords(resource: CompiledResource): CompiledResource {
  const fields = resource.fields.filter((field) => !field.type.concealed);
  return { ...resource, fields, field: new Map(fields.map((field) => [field.name, field])) };
}

/**
 * Reads lines of an import: fields of the user resource by its own rules, and besides them `id` (or `_id`), `passwordHash`,
 * `createdAt`, `updatedAt`.
 */
export function createRowReader(
  resource: CompiledResource,
  { service }: Pick<RecordsContext, 'service'>,
): (line: string) => Promise<ImportRow> {
  const rules = withoutPasswords(resource);
  const operation = { user: undefined, system: true, service };
  return async (line) => {
    const { id, _id, passwordHash, createdAt, updatedAt, ...fields } = parse(line);
    if ('password' in fields) fault({ password: 'Must not be there: give its hash as passwordHash' });
    const values = await validate(rules, fields, operation, {
      unknownFields: 'reject',
      maxUnknown: Number.POSITIVE_INFINITY,
      updating: false,
    });
    return {
      id: idOf(id ?? _id),
      values,
      hash: hashOf(passwordHash),
      createdAt: timeOf(createdAt, 'createdAt'),
      updatedAt: timeOf(updatedAt ?? createdAt, 'updatedAt'),
    };
  };
}

/** What is wrong with a row, by field; undefined for an error that is not the row's. */
export function faultsOf(error: unknown): ErrorDetails | undefined {
  const { status, message, details } = error as ApiError;
  return status === 422 ? (details ?? { line: message }) : undefined;
}
