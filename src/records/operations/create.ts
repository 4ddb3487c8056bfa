import type { IncomingMessage } from 'node:http';
import type { StoredRecord } from '../../declare/host.ts';
import { type ErrorDetails, validationError } from '../../platform/helpers/errors.ts';
import { newId } from '../../platform/helpers/ids.ts';
import { createPerRequestStore } from '../../platform/http/per-request.ts';
import { authorizeCollection } from '../access/authorize.ts';
import type { OperationContext } from '../access/operation-context.ts';
import {
  assertNoMissingReferences,
  findMissingReferences,
  idsChosenByCaller,
  locksReferences,
} from '../references/check-references.ts';
import { type CompiledResource, type Values, withoutPasswordFields } from '../schema/compiled.ts';
import { createActionErrorHandler } from '../schema/rule-errors.ts';
import type { Entity } from '../store/entity.ts';
import type { RecordTimes } from '../store/store.ts';
import { toConflictError } from '../writes/conflict-errors.ts';
import { attachFiles, mayAttachFiles, resolveFiles } from '../writes/files.ts';
import { findGuard } from '../writes/guard.ts';
import { applyBeforeHook } from '../writes/hooks.ts';
import { validateInput } from '../writes/validate.ts';
import { createChangeCause, hashPasswords, type PasswordHashes, runAfterCommitSteps } from '../writes/write-steps.ts';
import type { RecordsContext } from './context.ts';

const reservedIds = createPerRequestStore<string>('reserved id');

/** Reserves the id of the record that a request creates. The id distinguishes a repeated request from a new one. */
export function reserveId(req: IncomingMessage, id: string): void {
  reservedIds.set(req, id);
}

/** The id that the record of this request must get; undefined if any new id will do. */
export function reservedIdOf(req: IncomingMessage): string | undefined {
  return reservedIds.get(req);
}

interface CreateOptions {
  /** Skips the create policy: the caller has already checked another one, as registration does. */
  authorized?: boolean;
  /** The record's id; left out: a new one. */
  id?: string | undefined;
  /** The record's times; left out: now. */
  times?: RecordTimes | undefined;
  /** The hash to store in password fields instead of hashing a value; then the input has none. */
  passwordHash?: string | undefined;
  /** Hashes of passwords in the input, see `PasswordHashes`. */
  hashes?: PasswordHashes | undefined;
  /** Valid values that are stored in addition to the input: the input's sender could not set them. */
  trusted?: Values | undefined;
  /** Additional validation errors, by field, for values that pass the declaration's rules. */
  check?: (values: Values) => ErrorDetails;
}

function hashesForPasswordFields({ fields }: CompiledResource, hash: string): Values {
  return Object.fromEntries(fields.filter(({ type }) => type.concealed).map(({ name }) => [name, hash]));
}

/**
 * Checks the create policy.
 *
 * @throws ApiError UNAUTHORIZED or FORBIDDEN
 */
export async function authorizeCreate(resource: CompiledResource, operation: OperationContext): Promise<void> {
  if (operation.system) return;
  const onError = createActionErrorHandler(resource, 'create', { doc: undefined, req: operation.req });
  await authorizeCollection(resource.policies.create, 'create', operation, onError);
}

/** The validation rules of a create's input. */
function createValidationRules(
  { settings: { unknownFields, http }, entities }: RecordsContext,
  { name }: CompiledResource,
) {
  return { unknownFields, maxUnknown: http.bodyKeys, updating: false, meets: entities.get(name)?.store.meets };
}

/**
 * Validates the input of a create, before its hook runs.
 *
 * @throws ApiError VALIDATION_ERROR with a message per field
 */
export function validateCreate(
  context: RecordsContext,
  resource: CompiledResource,
  input: unknown,
  operation: OperationContext,
): Promise<Values> {
  const hooked = resource.declaration.hooks?.beforeCreate !== undefined;
  return validateInput(resource, input, operation, { ...createValidationRules(context, resource), hooked });
}

/** Runs the steps after a record was created: events, listeners and the hook. */
export function runAfterCreate(
  context: RecordsContext,
  { resource }: Entity,
  record: StoredRecord,
  operation: OperationContext,
): Promise<void> {
  return runAfterCommitSteps(context, resource, { action: 'created', record }, operation, (ctx) =>
    resource.declaration.hooks?.afterCreate?.(record as never, ctx),
  );
}

/** Whether statements before the insert may begin a transaction. */
function opensTransaction(resource: CompiledResource): boolean {
  return resource.declaration.hooks?.beforeCreate !== undefined || locksReferences(resource);
}

async function authorizeAndInsertRecord(
  context: RecordsContext,
  { resource: declared, store }: Entity,
  input: unknown,
  operation: OperationContext,
  options: CreateOptions,
): Promise<StoredRecord> {
  const resource = options.passwordHash === undefined ? declared : withoutPasswordFields(declared);
  const { hashes = new Map() } = options;
  if (!operation.system && !options.authorized) await authorizeCreate(resource, operation);
  const beforeCreate = resource.declaration.hooks?.beforeCreate;
  const sent = resource.holdsFiles ? await resolveFiles(context, declared, input, operation, {}) : input;
  let values = await validateCreate(context, resource, sent, operation);
  // The hook and locks of references may begin a transaction, which must not wait for a hash.
  if (opensTransaction(resource) && Object.keys(options.check?.(values) ?? {}).length === 0)
    await hashPasswords(context, resource, values, hashes);
  let validated = values;
  if (beforeCreate !== undefined) {
    const given = values;
    ({ values, validated } = await applyBeforeHook(context, resource, given, operation, {
      run: (ctx) => beforeCreate(given, ctx),
      rules: createValidationRules(context, resource),
    }));
  }
  values = { ...values, ...options.trusted };
  const refused = options.check?.(values) ?? {};
  if (Object.keys(refused).length > 0) throw validationError(refused);
  await findGuard(context, declared, operation)?.check({ after: values }, operation, undefined);
  if (resource.checkedReferences.length > 0) {
    const isChosenByCaller = idsChosenByCaller(input, validated);
    const [missing] = await findMissingReferences(context, resource, [{ values, isChosenByCaller }], operation);
    assertNoMissingReferences(resource, missing!, operation);
  }
  const hashed =
    options.passwordHash === undefined
      ? await hashPasswords(context, resource, values, hashes)
      : { ...values, ...hashesForPasswordFields(declared, options.passwordHash) };
  const id = options.id ?? newId();
  const inserting = store
    .insert(id, hashed, createChangeCause(context, operation), options.times)
    .catch((error: unknown) => {
      throw toConflictError(resource, error);
    });
  if (!resource.holdsFiles) return inserting;
  const record = await inserting;
  await attachFiles(context, declared, id, values);
  return record;
}

/** Creates a record: policy, validation, hooks, then the row and its event in one statement. */
export async function createRecord(
  context: RecordsContext,
  entity: Entity,
  input: unknown,
  operation: OperationContext,
  options: CreateOptions = {},
): Promise<StoredRecord> {
  const { resource } = entity;
  const hooks = resource.declaration.hooks;
  const always = mayAttachFiles(context, resource, input, hooks?.beforeCreate);
  const record = await (!opensTransaction(resource) && !always
    ? authorizeAndInsertRecord(context, entity, input, operation, options)
    : context.withTransaction(
        entity,
        operation,
        (txContext, txEntity, txOperation) =>
          authorizeAndInsertRecord(txContext, txEntity, input, txOperation, options),
        { always },
      ));
  await runAfterCreate(context, entity, record, operation);
  return record;
}
