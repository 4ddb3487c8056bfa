import { index, pgTable, text, timestamptz } from '../../extension/index.ts';

/** Sign-ins and links that wait for the provider to return the user, and tickets that start a link. Only hashes of secrets are stored. */
export const oidcFlows = pgTable(
  'oidc_flows',
  {
    /** SHA-256 of the state; of the ticket for the purpose `ticket`. */
    id: text('id').primaryKey(),
    provider: text('provider').notNull(),
    /** `sign_in`, `link`, or `ticket`: a link that has not been started in a browser yet. */
    purpose: text('purpose').notNull(),
    /** The user who links an identity. */
    userId: text('user_id'),
    /** SHA-256 of the secret in the browser's cookie. Null for a ticket. */
    browserHash: text('browser_hash'),
    redirectUrl: text('redirect_url').notNull(),
    /** The S256 challenge of the front end. */
    codeChallenge: text('code_challenge').notNull(),
    expiresAt: timestamptz('expires_at').notNull(),
  },
  (table) => [
    index('oidc_flows_user_id_index').on(table.userId),
    index('oidc_flows_expires_at_index').on(table.expiresAt),
  ],
);

/** One-time codes with which a front end continues after the provider has returned the user. */
export const oidcCodes = pgTable(
  'oidc_codes',
  {
    /** SHA-256 of the code. */
    codeHash: text('code_hash').primaryKey(),
    provider: text('provider').notNull(),
    /** `sign_in` or `link`. */
    purpose: text('purpose').notNull(),
    userId: text('user_id'),
    codeChallenge: text('code_challenge').notNull(),
    /** Ciphertext of the claims and tokens of the provider. */
    content: text('content').notNull(),
    expiresAt: timestamptz('expires_at').notNull(),
  },
  (table) => [
    index('oidc_codes_user_id_index').on(table.userId),
    index('oidc_codes_expires_at_index').on(table.expiresAt),
  ],
);

/** Nonces for ID tokens that apps request from a provider's SDK. */
export const oidcNonces = pgTable(
  'oidc_nonces',
  {
    /** SHA-256 of the nonce. */
    nonceHash: text('nonce_hash').primaryKey(),
    provider: text('provider').notNull(),
    expiresAt: timestamptz('expires_at').notNull(),
  },
  (table) => [index('oidc_nonces_expires_at_index').on(table.expiresAt)],
);

/** The tokens of providers, if the setting `storeTokens` is on. */
export const oidcTokens = pgTable(
  'oidc_tokens',
  {
    /** Derived from user, provider and subject. */
    id: text('id').primaryKey(),
    userId: text('user_id').notNull(),
    provider: text('provider').notNull(),
    subject: text('subject').notNull(),
    /** Ciphertext of the tokens. */
    tokens: text('tokens').notNull(),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    updatedAt: timestamptz('updated_at').notNull().defaultNow(),
  },
  (table) => [index('oidc_tokens_user_id_index').on(table.userId)],
);

/** $1 id, $2 provider, $3 purpose, $4 user, $5 browser hash, $6 redirect URL, $7 challenge, $8 ms to live. Returns the expiry. */
export const INSERT_FLOW = `
  insert into oidc_flows (id, provider, purpose, user_id, browser_hash, redirect_url, code_challenge, expires_at)
  values ($1, $2, $3, $4, $5, $6, $7, now() + $8::float8 * interval '1 millisecond') returning expires_at`;

/** Uses up a ticket. $1 id, $2 provider. Uses oidc_flows_pkey. */
export const CLAIM_TICKET = `
  delete from oidc_flows where id = $1 and provider = $2 and purpose = 'ticket' and expires_at > now()
  returning user_id, redirect_url, code_challenge`;

/** Uses up a state in the browser that started it. $1 id, $2 provider, $3 browser hash. Uses oidc_flows_pkey. */
export const CLAIM_FLOW = `
  delete from oidc_flows where id = $1 and provider = $2 and browser_hash = $3 and expires_at > now()
  returning purpose, user_id, redirect_url, code_challenge`;

/** $1 hash, $2 provider, $3 purpose, $4 user, $5 challenge, $6 content, $7 ms to live. */
export const INSERT_CODE = `
  insert into oidc_codes (code_hash, provider, purpose, user_id, code_challenge, content, expires_at)
  values ($1, $2, $3, $4, $5, $6, now() + $7::float8 * interval '1 millisecond')`;

/** Uses up the code of a sign-in. $1 hash, $2 challenge. Uses oidc_codes_pkey. */
export const CLAIM_SIGN_IN_CODE = `
  delete from oidc_codes where code_hash = $1 and code_challenge = $2 and purpose = 'sign_in' and expires_at > now()
  returning provider, content`;

/** Uses up the code of a link. $1 hash, $2 challenge, $3 user, $4 provider. Uses oidc_codes_pkey. */
export const CLAIM_LINK_CODE = `
  delete from oidc_codes
  where code_hash = $1 and code_challenge = $2 and purpose = 'link' and user_id = $3 and provider = $4 and expires_at > now()
  returning content`;

/** $1 hash, $2 provider, $3 ms to live. Returns the expiry. */
export const INSERT_NONCE = `
  insert into oidc_nonces (nonce_hash, provider, expires_at)
  values ($1, $2, now() + $3::float8 * interval '1 millisecond') returning expires_at`;

/** Uses up a nonce. $1 hash, $2 provider. Uses oidc_nonces_pkey. */
export const CLAIM_NONCE = `
  delete from oidc_nonces where nonce_hash = $1 and provider = $2 and expires_at > now() returning 1`;

/** Whether an identity is linked to a user. $1 provider, $2 subject, $3 user. Uses user_identities_provider_subject_index. */
export const SELECT_LINK = 'select 1 from user_identities where provider = $1 and subject = $2 and user_id = $3';

/** $1 id, $2 user, $3 provider, $4 subject, $5 tokens. */
export const UPSERT_TOKENS = `
  insert into oidc_tokens (id, user_id, provider, subject, tokens) values ($1, $2, $3, $4, $5)
  on conflict (id) do update set tokens = excluded.tokens, updated_at = now()`;

/** The condition that the identity of tokens `t` is still linked. Uses user_identities_provider_subject_index. */
const IS_LINKED = `exists (
  select from user_identities i where i.provider = t.provider and i.subject = t.subject and i.user_id = t.user_id)`;

/** Returns the newest tokens of a linked identity. $1 user, $2 provider. Uses oidc_tokens_user_id_index. */
export const SELECT_TOKENS = `
  select t.id, t.tokens from oidc_tokens t where t.user_id = $1 and t.provider = $2 and ${IS_LINKED}
  order by t.updated_at desc limit 1`;

/** Removes tokens whose identity is no longer linked. $1 maximum number of rows. */
export const REMOVE_UNLINKED_TOKENS = `
  delete from oidc_tokens where id in (
    select t.id from oidc_tokens t where not ${IS_LINKED} limit $1 for update skip locked
  ) returning 1`;
