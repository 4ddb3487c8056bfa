import {
  ApiError,
  isId,
  type ResourceGateway,
  type RouteContext,
  type StoredRecord,
  validationError,
} from '../../../extension/index.ts';
import { type DataContext, withClientInput } from './context.ts';

/** The fields of users that are changed in the Accounts tab, because they decide what an account can do and who can sign in to it. */
const ACCOUNT_FIELDS = ['email', 'emailVerifiedAt', 'roles', 'status'];
/** Of these, the field that a new user needs. */
const REQUIRED_FIELD = 'email';

type Users = Pick<DataContext, 'users' | 'host'>;

/** Whether the records of a resource are accounts. */
export function areAccounts({ users, host }: Users, gateway: ResourceGateway): boolean {
  return gateway === users && host.accounts !== undefined;
}

/** The fields that the data browser shows but does not change. */
export function listAccountFields(data: Users, gateway: ResourceGateway): readonly string[] {
  if (!areAccounts(data, gateway)) return [];
  return ACCOUNT_FIELDS.filter((name) => name in gateway.declaration.fields);
}

/** The fields that the data browser does not set when it creates a user. */
export function listFieldsOfNewAccount(data: Users, gateway: ResourceGateway): readonly string[] {
  return listAccountFields(data, gateway).filter((name) => name !== REQUIRED_FIELD);
}

/**
 * Refuses values of fields that are changed in the Accounts tab.
 *
 * @param fields see `listAccountFields` and `listFieldsOfNewAccount`
 * @throws ApiError VALIDATION_ERROR
 */
export function assertNoAccountFields(fields: readonly string[], values: unknown): void {
  const given = fields.filter((name) => Object.hasOwn(Object(values), name));
  if (given.length === 0) return;
  throw validationError(
    Object.fromEntries(given.map((name) => [name, 'Is read-only here; change it in the Accounts tab'])),
  );
}

async function load({ users }: Users, id: string): Promise<StoredRecord> {
  const [user] = isId(id) ? await users.load([id]) : [];
  if (user === undefined) throw new ApiError('NOT_FOUND');
  return user;
}

/** Deletes a user, after `AccountPower.confirm`. @param versions the versions that the record must have; left out: any */
async function removeUser({ host }: Users, ctx: RouteContext, id: string, versions?: '*' | readonly string[]) {
  await withClientInput(() => host.accounts!.power.change(ctx, id, () => ({ values: undefined }), versions));
}

/** Restores a deleted user, after `AccountPower.confirm`. */
async function restoreDeletedUser({ host, users }: Users, ctx: RouteContext, id: string): Promise<StoredRecord> {
  return withClientInput(() =>
    host.transaction(async (tx) => {
      const user = (await tx.service(users.name).restore(id, { as: 'system' })) as StoredRecord;
      await host.accounts!.power.assertMayTouch(ctx, user);
      return user;
    }),
  );
}

/** Deletes a user as a change of the power of an account. */
export async function deleteUser(data: Users, ctx: RouteContext, versions?: '*' | readonly string[]): Promise<void> {
  const id = ctx.params.id!;
  await data.host.accounts!.power.confirm(ctx, await load(data, id), ctx.input.code);
  await removeUser(data, ctx, id, versions);
}

/** Restores a deleted user as a change of the power of an account. */
export async function restoreUser(data: Users, ctx: RouteContext): Promise<StoredRecord> {
  await data.host.accounts!.power.confirm(ctx, undefined, ctx.input.code);
  return restoreDeletedUser(data, ctx, ctx.params.id!);
}

/**
 * Deletes or restores users. One code confirms all of them.
 *
 * @returns the errors of those that were not changed, in the order of the ids
 */
export async function changeManyUsers(
  data: Users,
  ctx: RouteContext,
  ids: readonly string[],
  action: 'delete' | 'restore',
): Promise<(ApiError | undefined)[]> {
  const { power } = data.host.accounts!;
  await power.confirm(ctx, undefined, ctx.input.code);
  const errors: (ApiError | undefined)[] = [];
  for (const id of ids) {
    try {
      if (action === 'restore') await restoreDeletedUser(data, ctx, id);
      else {
        await power.assertMayTouch(ctx, await load(data, id));
        await removeUser(data, ctx, id);
      }
      errors.push(undefined);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      errors.push(error);
    }
  }
  return errors;
}
