import type { Title } from '../../../declare/title.ts';
import { ApiError, type Fields, isId, type ResourceGateway, type StoredRecord } from '../../../extension/index.ts';
import type { DataContext } from '../data/context.ts';
import { textSql } from '../data/labels.ts';
import { findTitle } from '../data/resource-info.ts';

/** What accounts of this app have. Projects can replace the fields of the account template. */
export interface AccountFields {
  /** The roles that users can have; undefined: users have no roles. */
  roles: readonly string[] | undefined;
  /** Whether accounts can be disabled. */
  hasStatus: boolean;
  /** Whether the app finds out that users own their addresses. */
  hasVerification: boolean;
  /** The SQL of the texts that the search of the list looks into. */
  searchTexts: readonly string[];
  /** What names a user besides the address; without parts: nothing does. */
  title: Title;
}

/** Finds out what accounts of this app have. */
export function readAccountFields({ declaration }: ResourceGateway): AccountFields {
  const fields = declaration.fields as Fields;
  const statuses = fields.status?.spec.values ?? [];
  const found = findTitle(declaration);
  const title = found.some(({ field }) => field !== 'email') ? found : [];
  return {
    roles: fields.roles?.spec.inner?.spec.values,
    hasStatus: statuses.includes('active') && statuses.includes('disabled'),
    hasVerification: fields.emailVerifiedAt !== undefined,
    searchTexts: [...new Set(['email', ...title.map(({ field }) => field)])].map(textSql),
    title,
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
