import { createDeletedUsersConsumer } from '../../accounts/users/user-state.ts';
import type { RevocationStep } from '../../declare/accounts.ts';
import type { ResourceGateway, UserData } from '../../declare/host.ts';
import type { Database } from '../../platform/data/postgres/database.ts';
import { readRowsInPages } from '../../platform/data/postgres/scan.ts';
import { createRetentionSweep } from '../../platform/work/leased-work/sweeps.ts';
import type { OutboxConsumer } from '../../platform/work/outbox/consumer.ts';
import type { Sweep } from '../../platform/work/outbox/relay.ts';
import {
  REMOVE_CODES_OF_USERS,
  REMOVE_FLOWS_OF_USERS,
  REMOVE_TOKENS_OF_USERS,
  REMOVE_UNLINKED_TOKENS,
  removeExpiredSql,
} from './sql.ts';

// Uses index oidc_tokens_user_id_index.
const ROWS = `
  select id, provider, subject, created_at, updated_at from oidc_tokens where user_id = $1 and id > $2 order by id limit $3`;

/** Describes the tokens of providers that are stored for a user, for exports and erasures. */
export function oidcUserData(database: Database): UserData {
  return {
    name: 'providerTokens',
    description: 'Tokens of identity providers: for which account and since when, without the tokens',
    tables: ['oidc_tokens', 'oidc_flows', 'oidc_codes'],
    async *rows(userId) {
      const names = ['id', 'provider', 'subject', 'createdAt', 'updatedAt'];
      for await (const { id: _, ...row } of readRowsInPages(database, ROWS, names, [userId])) yield row;
    },
    async erase(userId) {
      await database.write({ text: REMOVE_FLOWS_OF_USERS, values: [[userId]] });
      await database.write({ text: REMOVE_CODES_OF_USERS, values: [[userId]] });
      return (await database.write({ text: REMOVE_TOKENS_OF_USERS, values: [[userId]] })).length;
    },
  };
}

// Rare, because the sweep reads every stored token. Tokens of a removed identity cannot be read in the meantime.
const UNLINKED_EVERY_MS = 10 * 60_000;

/** Creates the sweeps that remove expired sign-ins, codes and nonces, and tokens of identities that were removed. */
export function createOidcSweeps(database: Pick<Database, 'write'>): Sweep[] {
  return [
    createRetentionSweep(database, {
      name: 'oidc: expired sign-ins',
      removals: [
        { text: removeExpiredSql('oidc_flows', 'id') },
        { text: removeExpiredSql('oidc_codes', 'code_hash') },
        { text: removeExpiredSql('oidc_nonces', 'nonce_hash') },
      ],
    }),
    createRetentionSweep(database, {
      name: 'oidc: tokens of removed identities',
      everyMs: UNLINKED_EVERY_MS,
      removals: [{ text: REMOVE_UNLINKED_TOKENS }],
    }),
  ];
}

/**
 * Ends links of identities in progress, which an attacker may have started. A sign-in in progress belongs to no user yet, so it needs no step:
 * the exchange of its code decides by the identities of that moment.
 */
export const revokeOidc: RevocationStep = async ({ cause, userIds }, { database }) => {
  if (cause === 'key_revoked') return;
  await database.write({ text: REMOVE_FLOWS_OF_USERS, values: [userIds] });
  await database.write({ text: REMOVE_CODES_OF_USERS, values: [userIds] });
  // The identities end as well, and these tokens may be those of another person.
  if (cause === 'account_claimed' || cause === 'user_deleted')
    await database.write({ text: REMOVE_TOKENS_OF_USERS, values: [userIds] });
};

/** Creates the relay consumer that removes the rows of deleted users. */
export const createOidcRemovalConsumer = (users: ResourceGateway): OutboxConsumer =>
  createDeletedUsersConsumer(users, REMOVE_FLOWS_OF_USERS, REMOVE_CODES_OF_USERS, REMOVE_TOKENS_OF_USERS);
