import {
  ApiError,
  type Fields,
  isId,
  type ResourceGateway,
  type StoredRecord,
  snakeCase,
} from '../../../extension/index.ts';
import type { DataContext } from '../data/context.ts';
import { findLabelField } from '../data/resource-info.ts';

/** What accounts of this app have. Projects can replace the fields of the account template. */
export interface AccountFields {
  /** The roles that users can have; undefined: users have no roles. */
  roles: readonly string[] | undefined;
  /** Whether accounts can be disabled. */
  hasStatus: boolean;
  /** Whether the app finds out that users own their addresses. */
  hasVerification: boolean;
  /** The columns that the search of the list looks into. */
  searchColumns: readonly string[];
  /** The field that names a user; undefined: none does, or only the address. */
  nameField: string | undefined;
}

/** Finds out what accounts of this app have. */
export function readAccountFields({ declaration }: ResourceGateway): AccountFields {
  const fields = declaration.fields as Fields;
  const statuses = fields.status?.spec.values ?? [];
  const label = findLabelField(declaration);
  const nameField = label === 'email' ? undefined : label;
  return {
    roles: fields.roles?.spec.inner?.spec.values,
    hasStatus: statuses.includes('active') && statuses.includes('disabled'),
    hasVerification: fields.emailVerifiedAt !== undefined,
    searchColumns: ['email', ...(nameField === undefined ? [] : [nameField])].map(snakeCase),
    nameField,
  };
}

/** What the routes of the tab work with. */
export interface AccountsTabContext extends Pick<DataContext, 'host' | 'users'> {
  fields: AccountFields;
}

function accountGoneError(): ApiError {
  return new ApiError('NOT_FOUND', 'There is no such account; it may have been deleted');
}

/** @throws ApiError NOT_FOUND */
export async function loadAccount({ users }: Pick<AccountsTabContext, 'users'>, id: string): Promise<StoredRecord> {
  const [user] = isId(id) ? await users.load([id]) : [];
  if (user === undefined) throw accountGoneError();
  return user;
}
