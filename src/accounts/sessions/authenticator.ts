import { isAccountActive } from '../../declare/actor.ts';
import type { Authenticator, SignInCondition } from '../../declare/authenticator.ts';
import type { Host, ResourceGateway, StoredRecord } from '../../declare/host.ts';
import type { Viewer } from '../../declare/policy.ts';
import { hashToken, isWellFormedToken } from '../../platform/data/crypto/token.ts';
import { createUsageRecorder } from '../../platform/data/postgres/usage-recorder.ts';
import { createBatchLoader } from '../../platform/helpers/concurrency/loader.ts';
import { invalidSessionError } from '../../platform/helpers/errors.ts';

// True if `last_used_at` is older than 5 minutes. All times come from the database clock, which is the same for all processes.
const UNUSED = `"last_used_at" < now() - interval '5 minutes'`;

/** When the user last proved who they are. The column is null until then, so that sessions of earlier versions need no migration. */
export const AUTHENTICATED_AT = 'coalesce("authenticated_at", "created_at")';

// Uses index sessions_token_hash_unique. Also returns the record of each user. One query serves all requests that arrive together.
const FIND = `
  select s."token_hash", s."id", s.${UNUSED}, s."organisation", %columns%
  from "sessions" s join %users% u on u."id" = s."user_id"
  where s."token_hash" = any($1) and s."expires_at" > now()`;
const TOUCH = `update "sessions" set "last_used_at" = now() where "id" = $1 and ${UNUSED}`;
// These use index sessions_pkey.
const ENDED = `
  select asked."id" from unnest($1::text[]) as asked("id")
  where not exists (select from "sessions" s where s."id" = asked."id" and s."expires_at" > now())`;
const IS_RECENT = `
  select 1 from "sessions" cross join lateral (select case when $4 then "created_at" else ${AUTHENTICATED_AT} end as "at") proof
  where "id" = $1 and proof."at" > now() - $2::float8 * interval '1 minute'
    and ($3::timestamptz is null or proof."at" >= $3)`;

type FoundRow = [tokenHash: string, id: string, unused: boolean, organisation: string | null, ...user: unknown[]];

/** Creates the authenticator of session tokens. @param users its records become the `user` of policies */
export function createSessionAuthenticator(
  { database, log }: Pick<Host, 'database' | 'log'>,
  users: ResourceGateway,
): Authenticator {
  const find = FIND.replace('%users%', `"${users.table}"`).replace('%columns%', users.columns('u'));
  const findByTokenHash = createBatchLoader(
    (hashes) => database.read<FoundRow>({ name: 'session_find', text: find, values: [hashes] }),
    ([tokenHash]) => tokenHash,
  );

  const recordUsage = createUsageRecorder(database, { name: 'session_touch', text: TOUCH }, (error) =>
    log.warn({ err: error }, 'Could not refresh lastUsedAt of a session'),
  );

  return {
    scheme: {
      name: 'session',
      description: 'The token returned by a login or a registration.',
      bearerFormat: 'svc_…',
    },
    recognizes: isWellFormedToken,
    async authenticate(token) {
      const row = await findByTokenHash(hashToken(token));
      if (row === undefined) throw invalidSessionError();
      const [, id, unused, organisation, ...columns] = row;
      const user: StoredRecord & Viewer = users.fromRow(columns);
      if (!isAccountActive(user)) throw invalidSessionError();
      if (unused) recordUsage(id);
      const auth = { via: 'session', scopes: ['*'], id } as const;
      return { user, auth: organisation === null ? auth : { ...auth, organisation } };
    },
    watch: {
      via: 'session',
      async ended(ids, tx) {
        const statement = { name: 'session_ended', text: ENDED, values: [ids] };
        const rows = await (tx === undefined ? database.read<[id: string]>(statement) : tx.write<[string]>(statement));
        return rows.map(([id]) => id);
      },
    },
    async isSignInRecent(id, minutes, { since, beginOnly = false }: Partial<SignInCondition> = {}) {
      const statement = { name: 'session_is_recent', text: IS_RECENT, values: [id, minutes, since, beginOnly] };
      return (await database.read(statement)).length > 0;
    },
  };
}
