import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import {
  ApiError,
  boundedArraySchema,
  isId,
  type ResourceGateway,
  type RouteContext,
  type StoredRecord,
  validationError,
  withMeta,
} from '../../../extension/index.ts';
import { parseIfMatchHeader } from '../../../records/store/versions.ts';
import { secondFactorCode } from '../access/second-factor.ts';
import {
  areAccounts,
  assertNoAccountFields,
  changeManyUsers,
  deleteUser,
  listAccountFields,
  listFieldsOfNewAccount,
  restoreUser,
} from './accounts.ts';
import { toConsoleRecords } from './console-form.ts';
import { type DataContext, withClientInput } from './context.ts';
import { passwordFieldsOf } from './field-info.ts';
import { readReferenceLabels } from './labels.ts';
import { versionTagOf } from './read.ts';

/** Maximum records of one bulk action. */
const MAX_BULK_IDS = 1000;
const PASSWORD_BYTES = 32;

const idListError = `Must be a list of up to ${MAX_BULK_IDS} different ids`;

/** The body of a bulk action. */
export const bulkBody = z.strictObject({
  ids: boundedArraySchema(z.string({ error: 'Must be an id' }).refine(isId, { error: 'Must be an id' }), {
    min: 1,
    max: MAX_BULK_IDS,
    error: idListError,
  }).refine((ids) => new Set(ids).size === ids.length, { error: idListError }),
  action: z.enum(['delete', 'restore', 'update'], { error: 'Must be delete, restore or update' }),
  values: z.record(z.string(), z.unknown(), { error: 'Must be an object' }).optional(),
  code: secondFactorCode,
});

/** The optional body of a deletion or restore: a code of the administrator's second factor, if the records are accounts. */
export const codeBody = z.strictObject({ code: secondFactorCode });

/**
 * Refuses passwords in the values of a write: administrators do not choose the passwords of users.
 *
 * @throws ApiError VALIDATION_ERROR
 */
function assertNoPassword(gateway: ResourceGateway, values: unknown): void {
  const given = passwordFieldsOf(gateway.declaration).filter((name) => Object.hasOwn(Object(values), name));
  if (given.length === 0) return;
  const message = 'The console does not set passwords; users set their own';
  throw validationError(Object.fromEntries(given.map((name) => [name, message])));
}

/** The response to a write: the record in the form of the console, with its new version. */
async function toWriteResponse(data: DataContext, gateway: ResourceGateway, record: StoredRecord): Promise<unknown> {
  const [[form], labels] = await Promise.all([
    toConsoleRecords(data.host, gateway, [record]),
    readReferenceLabels(data, gateway, [record]),
  ]);
  return withMeta(form, { version: versionTagOf(gateway, record), deleted: record.deletedAt !== undefined, labels });
}

/** Creates a user without a password: they set one with a reset link, or sign in in another way. */
async function createUser({ host }: DataContext, values: unknown): Promise<StoredRecord> {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  const input =
    typeof values === 'object' && values !== null && !Array.isArray(values) ? { ...values, password } : values;
  return host.transaction(async (tx) => {
    const user = await tx.service('user').create(input as Record<string, unknown>, { as: 'system' });
    await host.accounts!.removePassword(user.id, tx.database);
    return user;
  });
}

/** Handles `POST /records/:resource`. */
export async function createRecord(data: DataContext, { params, body }: RouteContext): Promise<unknown> {
  const gateway = data.gateway(params.resource);
  assertNoPassword(gateway, body);
  assertNoAccountFields(listFieldsOfNewAccount(data, gateway), body);
  const record = await withClientInput(() =>
    areAccounts(data, gateway)
      ? createUser(data, body)
      : data.host.service(gateway.name).create(body as Record<string, unknown>, { as: 'system' }),
  );
  return toWriteResponse(data, gateway, record);
}

/**
 * Returns the versions of a record that a request may change or delete, so that nobody overwrites or deletes what they have not seen.
 *
 * @throws ApiError BAD_REQUEST if the request names none
 */
function requireVersions(req: RouteContext['req']) {
  const versions = parseIfMatchHeader(req);
  if (versions === undefined)
    throw new ApiError('BAD_REQUEST', 'Send the version of the record that you have seen as If-Match');
  return versions;
}

/** Handles `PATCH /records/:resource/:id`. */
export async function updateRecord(data: DataContext, { params, body, req }: RouteContext): Promise<unknown> {
  const gateway = data.gateway(params.resource);
  const versions = requireVersions(req);
  assertNoPassword(gateway, body);
  assertNoAccountFields(listAccountFields(data, gateway), body);
  const service = data.host.service(gateway.name);
  const values = body as Record<string, unknown>;
  const record = await withClientInput(() => service.update(params.id!, values, { as: 'system', versions }));
  return toWriteResponse(data, gateway, record);
}

/** Handles `DELETE /records/:resource/:id`. */
export async function deleteRecord(data: DataContext, ctx: RouteContext): Promise<void> {
  const { params, req } = ctx;
  const gateway = data.gateway(params.resource);
  const versions = requireVersions(req);
  if (areAccounts(data, gateway)) await deleteUser(data, ctx, versions);
  else await withClientInput(() => data.host.service(gateway.name).delete(params.id!, { as: 'system', versions }));
}

/** Handles `POST /records/:resource/:id/restore`. */
export async function restoreRecord(data: DataContext, ctx: RouteContext): Promise<unknown> {
  const { params } = ctx;
  const gateway = data.gateway(params.resource);
  if (gateway.archiveTable === undefined) throw new ApiError('NOT_FOUND');
  const record = areAccounts(data, gateway)
    ? await restoreUser(data, ctx)
    : await withClientInput(() => data.host.service(gateway.name).restore(params.id!, { as: 'system' }));
  return toWriteResponse(data, gateway, record);
}

/** Handles `POST /records/:resource/bulk`. Each record is changed, or fails, by itself. */
export async function changeManyRecords(data: DataContext, ctx: RouteContext): Promise<unknown> {
  const { params, input } = ctx;
  const gateway = data.gateway(params.resource);
  const { ids, action, values } = input as z.output<typeof bulkBody>;
  if ((action === 'update') !== (values !== undefined))
    throw validationError({ values: action === 'update' ? 'Is required' : 'Is only for the action update' });
  assertNoPassword(gateway, values);
  assertNoAccountFields(listAccountFields(data, gateway), values);
  const change = action === 'update' ? { action, values } : { action };
  const errors =
    areAccounts(data, gateway) && action !== 'update'
      ? await changeManyUsers(data, ctx, ids, action)
      : await data.host.bulk.resource(gateway.name).change(ids, change);
  const translation = data.host.languages.for(ctx.req);
  return ids.map((id, i) => {
    const error = errors[i];
    if (error === undefined) return { id };
    const { code, message, details } = translation.error(error);
    return { id, error: { code, message, ...(details && { details }) } };
  });
}
