import {
  findConstraintViolation,
  findViolatedForeignKey,
  toPublicViolation,
} from '../../platform/data/postgres/errors.ts';
import { ApiError, type ErrorDetails } from '../../platform/helpers/errors.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import type { CompiledConstraint } from '../schema/constraints.ts';
import { fieldsOfUniqueIndex } from '../schema/indexes.ts';
import { foreignKeyNameOf, missingReferenceMessage } from '../schema/references.ts';
import { InputError } from '../schema/rule-errors.ts';

/**
 * The error details for the fields of a violated unique index. If the index has several fields, only those that every viewer sees are
 * named.
 */
function describeTakenFields(all: readonly CompiledField[]): ErrorDetails {
  // A unique value of an organisation's record is unique within the organisation.
  const fields = all.filter(({ spec }) => !spec.tenant);
  const alone = fields.length === 1;
  const named = fields.filter(({ spec, secret, visibleTo }) =>
    alone ? !spec.hidden : !secret && visibleTo === undefined,
  );
  const message = (name: string) => {
    const others = named.map((field) => field.name).filter((other) => other !== name);
    return others.length === 0 ? 'Is already taken' : `Is already taken together with ${others.join(', ')}`;
  };
  return Object.fromEntries(named.map(({ name }) => [name, message(name)]));
}

/** The error for a reference to a record that was deleted since the write checked it; undefined for any other error. */
function createDanglingReferenceError(resource: CompiledResource, error: unknown): ApiError | undefined {
  const key = findViolatedForeignKey(error);
  if (key === undefined || key.table !== resource.table) return undefined;
  const field = resource.checkedReferences.find((one) => foreignKeyNameOf(resource, one) === key.name);
  if (field === undefined) return undefined;
  const details = field.spec.hidden ? undefined : { [field.name]: missingReferenceMessage(field) };
  return new InputError('VALIDATION_ERROR', undefined, { ...(details && { details }), cause: error });
}

/** The names of fields that an error about several fields may contain: those that every viewer sees. */
function listNameableFields(resource: CompiledResource, names: readonly string[]): string[] {
  return names.filter((name) => {
    const { spec, secret, visibleTo } = resource.field.get(name)!;
    return !spec.tenant && !secret && visibleTo === undefined;
  });
}

const CONSTRAINT_MESSAGES = {
  exclude: 'Another record conflicts with these values',
  check: 'These values are not allowed together',
  unique: undefined,
} as const;

/** The error for a constraint of the declaration, with the declared message and the fields that every viewer sees. */
function createDeclaredConstraintError(
  resource: CompiledResource,
  { kind, fields, message: declared }: CompiledConstraint,
  cause: unknown,
): ApiError {
  const message = declared ?? CONSTRAINT_MESSAGES[kind];
  const code = kind === 'check' ? 'VALIDATION_ERROR' : 'CONFLICT';
  const details =
    message === undefined
      ? describeTakenFields(fields.map((name) => resource.field.get(name)!))
      : Object.fromEntries(listNameableFields(resource, fields).map((name) => [name, message]));
  return new ApiError(code, message, { ...(Object.keys(details).length > 0 && { details }), cause });
}

/** The code of Postgres for a range whose end is before its start. */
const INVALID_RANGE = '22000';

/** The error for a range of a constraint that ends before it starts, which Postgres does not name; undefined for any other error. */
function createInvalidRangeError(resource: CompiledResource, error: unknown): ApiError | undefined {
  if ((error as { code?: unknown } | null)?.code !== INVALID_RANGE) return undefined;
  const ranges = resource.constraints.flatMap(({ ranges }) => ranges);
  if (ranges.length === 0) return undefined;
  const [{ from, to }] = ranges as [{ from: string; to: string }];
  const isNamed = ranges.length === 1 && listNameableFields(resource, [from, to]).length === 2;
  const details = isNamed ? { [to]: `Must not be less than ${from}` } : undefined;
  return new ApiError('VALIDATION_ERROR', undefined, { ...(details && { details }), cause: error });
}

/** The error for a constraint that the project added to the table by SQL. Names the field if Postgres names its column. */
function createOwnConstraintError(resource: CompiledResource, error: unknown): ApiError {
  const { code, message } = toPublicViolation(error, resource.table)!;
  const { kind, table, column } = findConstraintViolation(error)!;
  const field = table === resource.table ? resource.fields.find((one) => one.column === column) : undefined;
  const text = kind === 'notNull' ? 'Is required' : 'Is not allowed';
  const details = field === undefined || field.spec.hidden ? undefined : { [field.name]: text };
  return new ApiError(code, message, { ...(details && { details }), cause: error });
}

/**
 * Converts a violated constraint to a 409 or a 422 for the client, including constraints that the project added by SQL. Returns any other
 * error unchanged. The response never reveals which record has the value.
 */
export function toConflictError(resource: CompiledResource, error: unknown): unknown {
  const violation = findConstraintViolation(error);
  if (violation === undefined) return createInvalidRangeError(resource, error) ?? error;
  const declared = resource.constraints.find(({ name }) => name === violation.name);
  if (declared !== undefined) return createDeclaredConstraintError(resource, declared, error);
  const dangling = createDanglingReferenceError(resource, error);
  if (dangling !== undefined) return dangling;
  if (violation.kind !== 'unique') return createOwnConstraintError(resource, error);
  const details = describeTakenFields(fieldsOfUniqueIndex(resource, violation.name));
  return new ApiError('CONFLICT', undefined, { ...(Object.keys(details).length > 0 && { details }), cause: error });
}
