import {
  createDeletedUsersConsumer,
  createRetentionSweep,
  type Database,
  defineOwnedTable,
  type FeatureParts,
  type ResourceGateway,
  type RevocationStep,
  type Sweep,
} from '../../extension/index.ts';
import { oidcCodes, oidcFlows, oidcNonces, oidcTokens, REMOVE_UNLINKED_TOKENS } from './sql.ts';

// These use the indexes on user_id.
const flows = defineOwnedTable(oidcFlows);
const codes = defineOwnedTable(oidcCodes);
const tokens = defineOwnedTable(oidcTokens);

// Rare, because the sweep reads every stored token. Tokens of a removed identity cannot be read in the meantime.
const UNLINKED_EVERY_MS = 10 * 60_000;

/** Creates the sweeps that remove expired sign-ins, codes and nonces, and tokens of identities that were removed. */
export function createOidcSweeps(database: Pick<Database, 'write'>): Sweep[] {
  return [
    createRetentionSweep(database, {
      name: 'oidc: expired sign-ins',
      removals: [oidcFlows, oidcCodes, oidcNonces].map((table) => ({ table })),
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
const revokeOidc: RevocationStep = async ({ cause, userIds }, { database: on }) => {
  if (cause === 'key_revoked') return;
  await flows.remove(on, userIds);
  await codes.remove(on, userIds);
  // The identities end as well, and these tokens may be those of another person.
  if (cause === 'account_claimed' || cause === 'user_deleted') await tokens.remove(on, userIds);
};

/** Creates the parts that revoke, remove and export the rows of users. */
export function createOidcRowParts(database: Database, users: ResourceGateway) {
  return {
    revocationStep: revokeOidc,
    consumers: [createDeletedUsersConsumer(users, flows, codes, tokens)],
    sweeps: createOidcSweeps(database),
    userData: [
      tokens.describe(database, {
        name: 'providerTokens',
        description: 'Tokens of identity providers: for which account and since when, without the tokens',
        exported: ['provider', 'subject', 'createdAt', 'updatedAt'],
        also: [flows, codes],
      }),
    ],
  } satisfies FeatureParts;
}
