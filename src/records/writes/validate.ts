import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { getOrganisationRole } from '../../declare/actor.ts';
import type { StoredRecord } from '../../declare/host.ts';
import { type ErrorDetails, MAX_DETAILS } from '../../platform/helpers/errors.ts';
import { tooManyKeysMessage } from '../../platform/helpers/json/json-limits.ts';
import type { OperationContext } from '../access/operation-context.ts';
import { createValidDefault, isBlank, missingValueMessage } from '../fields/missing-values.ts';
import type { CompiledField, CompiledResource, Values } from '../schema/compiled.ts';
import { InputError, runProjectCode } from '../schema/rule-errors.ts';
import { allFieldValuesOf } from '../store/codec.ts';
import { applyFieldRules } from './custom-rules.ts';
import {
  type FieldWrite,
  findMoveRefusal,
  findWriteRefusal,
  findWriteRefusalByFunction,
  needsWritableByFunction,
} from './writable-fields.ts';

/** Names that a client may send back with a record that it received; they are ignored. */
const IGNORED_NAMES = new Set(['id', 'createdAt', 'updatedAt']);

interface Validation extends FieldWrite {
  unknownFields: 'reject' | 'strip';
  /** Maximum number of undeclared fields in a body, even if they are stripped. */
  maxUnknown: number;
  /** The values that were validated before a hook ran. Values that the hook left unchanged are neither checked nor transformed again. */
  validated: Values;
  /** Whether a hook will run after this validation: the hook may fill fields that clients cannot send. */
  hooked: boolean;
}

function createInputError(details: ErrorDetails): InputError {
  return new InputError('VALIDATION_ERROR', undefined, { details });
}

function addIssues(details: ErrorDetails, name: string, issues: readonly z.core.$ZodIssue[]): void {
  for (const issue of issues) {
    const path = [name, ...issue.path.map(String)].join('.');
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys.slice(0, MAX_DETAILS)) details[`${path}.${key}`] ??= 'Unknown field';
    } else {
      details[path] ??= issue.message;
    }
  }
}

/** Whether a hook left a validated value unchanged. */
function isAlreadyValidated(name: string, value: unknown, { validated }: Validation): boolean {
  return Object.hasOwn(validated, name) && isDeepStrictEqual(validated[name], value);
}

function isSet(input: Values, name: string): boolean {
  return Object.hasOwn(input, name) && input[name] !== undefined;
}

/** For an update, functions of `writableBy` run before the value is checked: the record on which the functions decide already exists. */
async function findFieldWriteRefusalOnUpdate(
  field: CompiledField,
  validation: Validation,
): Promise<string | undefined> {
  if (!validation.updating || !needsWritableByFunction(field, validation)) return undefined;
  return findWriteRefusalByFunction(field, validation, validation.before);
}

/** Checks the sent values, field by field. Returns the valid values; errors are added to `details`. */
async function validateSentFields(input: Values, validation: Validation, details: ErrorDetails): Promise<Values> {
  const values: Values = {};
  const { resource } = validation;
  let unknown = 0;
  for (const name of Object.keys(input)) {
    const field = resource.field.get(name);
    if (field === undefined) {
      unknown += 1;
      if (unknown > validation.maxUnknown) {
        details.body = tooManyKeysMessage(validation.maxUnknown);
        break;
      }
      if (IGNORED_NAMES.has(name) || validation.unknownFields === 'strip') continue;
      if (unknown > MAX_DETAILS) break;
      details[name] = 'Unknown field';
      continue;
    }
    if (input[name] === undefined) continue;
    if (isAlreadyValidated(name, input[name], validation)) {
      values[name] = input[name];
      continue;
    }
    const refused =
      findWriteRefusal(field, validation) ??
      findMoveRefusal(field, input[name], validation) ??
      (await findFieldWriteRefusalOnUpdate(field, validation));
    if (refused !== undefined) details[name] = refused;
    else if (field.spec.required && isBlank(input[name])) details[name] = missingValueMessage(field.spec);
    else if (input[name] === null) {
      if (validation.updating) values[name] = null;
    } else {
      const parsed = field.schema.safeParse(input[name]);
      if (parsed.success) values[name] = parsed.data;
      else addIssues(details, name, parsed.error.issues);
    }
  }
  return values;
}

/** Fills the fields that a create left out: the owner and defaults. Reports missing required values. */
function fillMissingFields(input: Values, values: Values, validation: Validation, details: ErrorDetails): void {
  const { resource, operation } = validation;
  for (const field of resource.fields) {
    const { name, spec } = field;
    // With system privilege, null creates a record without an owner.
    const unowned = operation.system && input[name] === null;
    const isOwner = name === resource.ownerField && values[name] === undefined;
    if (isOwner && getOrganisationRole(operation.user) !== undefined) {
      // An organisation is no user, so it owns no records.
      if (spec.required) details[name] ??= 'Is required, but the API key of an organisation belongs to no user';
    } else if (isOwner && operation.user !== undefined && !unowned) {
      values[name] = operation.user.id;
    } else if (!isSet(input, name) || input[name] === null) {
      const value = 'default' in spec ? createValidDefault(name, spec, field.schema) : undefined;
      const filledByHook = validation.hooked && field.closed;
      if (value !== undefined) values[name] = value;
      else if (spec.required && !filledByHook) details[name] ??= missingValueMessage(spec);
    }
  }
}

/**
 * Replaces a value with the output of its custom rules, as the column holds it. Without an output, removes the value. Errors are added to
 * `details`.
 */
function setRuleResult(
  values: Values,
  field: CompiledField,
  result: unknown,
  { updating }: Validation,
  details: ErrorDetails,
): void {
  const { name, spec, type } = field;
  if (result === undefined || result === null) {
    if (spec.required) details[name] ??= missingValueMessage(spec);
    else if (updating) values[name] = null;
    else delete values[name];
    return;
  }
  const held = field.transforms ? field.columnType.convertToStored(result, field.maxBytes) : { value: result };
  if ('value' in held) values[name] = held.value;
  else if (held.message !== undefined) details[[name, ...held.path].join('.')] ??= held.message;
  else throw new Error(`schema() of the field "${name}" returned a value that a ${type.kind} field cannot hold`);
}

async function applyCustomRules(values: Values, validation: Validation, details: ErrorDetails): Promise<void> {
  const { resource, before } = validation;
  const record = { ...(before === undefined ? {} : allFieldValuesOf(resource, before)), ...values };
  for (const field of resource.fields) {
    const value = values[field.name];
    if (!field.hasRules || value === undefined || value === null) continue;
    if (isAlreadyValidated(field.name, value, validation)) continue;
    const ruled = await runProjectCode(resource.name, `a rule of the field "${field.name}"`, () =>
      applyFieldRules(field.spec, value, { record, path: field.name, details }),
    );
    if (ruled.passed) setRuleResult(values, field, ruled.value, validation, details);
  }
}

/** Sets the organisation of a new record, if it belongs to one: functions of `writableBy` may depend on it. */
async function setTenant(values: Values, { resource, operation }: Validation): Promise<void> {
  const field = resource.fields.find(({ spec }) => spec.chooseTenant !== undefined);
  if (field === undefined) return;
  const { user, service } = operation;
  values[field.name] = await field.spec.chooseTenant!(values[field.name], { user, as: 'user', service });
}

/**
 * For a create, functions of `writableBy` run last: the functions decide on the record as it would be stored, so the record must be valid. Sets
 * its organisation first.
 */
async function checkWritableByOnCreate(
  input: Values,
  values: Values,
  validation: Validation,
  details: ErrorDetails,
): Promise<void> {
  const fields = validation.resource.fields.filter(
    (field) => isSet(input, field.name) && needsWritableByFunction(field, validation),
  );
  if (fields.length > 0) await setTenant(values, validation);
  for (const field of fields) {
    const refused = await findWriteRefusalByFunction(
      field,
      validation,
      copyValuesForPolicy(validation.resource, values),
    );
    if (refused !== undefined) details[field.name] = refused;
  }
}

/** A copy of validated values as the record for policy functions, which may change it. Passwords are left out. */
export function copyValuesForPolicy(resource: CompiledResource, values: Values): Record<string, unknown> {
  const visible = Object.entries(values).filter(([name]) => !resource.field.get(name)!.type.concealed);
  return structuredClone(Object.fromEntries(visible));
}

/**
 * Validates a body against the declaration.
 *
 * @param options `before`: the current record, for an update; required if `needsStoredRecord` returns true. `validated`: the result of an
 *   earlier validation, if `input` is the result of a hook. `hooked`: whether a hook will receive the result. `meets`: see `FieldWrite`
 * @returns normalised values: for a create all fields with a value, for an update the sent fields (null clears)
 * @throws ApiError VALIDATION_ERROR with a message per field
 */
export async function validateInput(
  resource: CompiledResource,
  input: unknown,
  operation: OperationContext,
  options: {
    unknownFields: 'reject' | 'strip';
    maxUnknown: number;
    updating: boolean;
    before?: StoredRecord | undefined;
    meets?: FieldWrite['meets'];
    validated?: Values;
    hooked?: boolean;
  },
): Promise<Values> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw createInputError({ body: 'Must be an object' });
  }
  const details: ErrorDetails = Object.create(null);
  const validation: Validation = { resource, operation, before: undefined, validated: {}, hooked: false, ...options };
  const values = await validateSentFields(input as Values, validation, details);
  if (!options.updating) fillMissingFields(input as Values, values, validation, details);
  // Custom rules run only on records that pass the built-in rules.
  if (Object.keys(details).length === 0) await applyCustomRules(values, validation, details);
  if (!options.updating && Object.keys(details).length === 0) {
    await checkWritableByOnCreate(input as Values, values, validation, details);
  }
  if (Object.keys(details).length > 0) throw createInputError({ ...details });
  return values;
}

/** The fields that a body sets. */
export function sentFieldsOf(resource: CompiledResource, input: unknown): CompiledField[] {
  if (typeof input !== 'object' || input === null) return [];
  // Iterate over the declared fields: a body may have very many names.
  return resource.fields.filter(({ name }) => Object.hasOwn(input, name));
}

/** Whether a body sets a field with a `check` or `schema`. */
export function hasFieldRules(resource: CompiledResource, input: unknown): boolean {
  return sentFieldsOf(resource, input).some((field) => field.hasRules);
}

/** Whether validating an update with this body requires the stored record. */
export function needsStoredRecord(resource: CompiledResource, input: unknown): boolean {
  const needsRecord = ({ hasRules, writableBy, spec }: CompiledField) => hasRules || writableBy?.owner || spec.tenant;
  if (sentFieldsOf(resource, input).some(needsRecord)) return true;
  return hasWritableByFunction(resource, input);
}

/** Whether a function decides, record by record, if a field of this body may be written. */
export function hasWritableByFunction(resource: CompiledResource, input: unknown): boolean {
  return sentFieldsOf(resource, input).some((field) => (field.writableBy?.functions.length ?? 0) > 0);
}
