import type { Database } from '../../../platform/postgres/database.ts';
import { createLoader } from '../../../platform/postgres/loader.ts';
import { KEPT } from './sweep.ts';

const LEASE = `interval '60 seconds'`;

// All by primary key. A row that is too old to count, and not swept yet, begins anew.
const BEGIN = `
  insert into idempotency_keys as k (id, fingerprint, record_id, claim, claimed_until)
  values ($1, $2, $3, $4, now() + ${LEASE})
  on conflict (id) do update set
    fingerprint = excluded.fingerprint, record_id = excluded.record_id, claim = excluded.claim,
    claimed_until = excluded.claimed_until, status = null, answer = null, created_at = now()
  where k.created_at <= now() - ${KEPT}
  returning 1`;
const LOOK = `
  select id, fingerprint, record_id, status, answer, claimed_until <= now() from idempotency_keys
  where id = any($1) and created_at > now() - ${KEPT}`;
const TAKE_OVER = `
  update idempotency_keys set fingerprint = $2, claim = $3, claimed_until = now() + ${LEASE}
  where id = $1 and status is null and claimed_until <= now() and (fingerprint is null or fingerprint = $4)
  returning 1`;
const RENEW = `update idempotency_keys set claimed_until = now() + ${LEASE} where id = $1 and claim = $2 and status is null`;
const FINISH = 'update idempotency_keys set status = $3, answer = $4 where id = $1 and claim = $2';
const RELEASE = `
  update idempotency_keys set claimed_until = now(), fingerprint = case when $3 then null else fingerprint end
  where id = $1 and claim = $2`;

/** What is known of a key. */
export interface Claimed {
  fingerprint: string | null;
  recordId: string;
  /** Null: no answer yet. */
  status: number | null;
  answer: string | null;
  /** Whether another try may begin, where there is no answer. */
  lapsed: boolean;
}

/** A try: the row, and whose it is. */
export interface Claim {
  id: string;
  claim: string;
}

/** Who may try a request, and what came of it: one row a key, changed by single statements. */
export interface Claims {
  /** Begins with a key. False when it is known already. */
  begin(claim: Claim, fingerprint: string, recordId: string): Promise<boolean>;
  /** What is known of a key; looks of one moment share a query. */
  look(id: string): Promise<Claimed | undefined>;
  /** Begins another try for who failed, unless somebody else does. @param before the fingerprint that was seen */
  takeOver(claim: Claim, fingerprint: string, before: string | null): Promise<boolean>;
  /** Says that a try goes on: a minute more. */
  renew(claim: Claim): Promise<void>;
  /** Keeps an answer. */
  finish(claim: Claim, status: number, answer: string | null): Promise<void>;
  /** Gives a try up. @param forget whether something else may be sent with the key */
  release(claim: Claim, forget: boolean): Promise<void>;
}

type Row = [id: string, string | null, string, number | null, string | null, boolean];

export function createClaims(database: Database): Claims {
  const load = createLoader(
    (ids) => database.read<Row>({ name: 'idempotency_look', text: LOOK, values: [ids] }),
    ([id]) => id,
  );
  const write = (name: string, text: string, values: unknown[]) => database.write({ name, text, values });
  return {
    begin: async ({ id, claim }, fingerprint, recordId) =>
      (await write('idempotency_begin', BEGIN, [id, fingerprint, recordId, claim])).length > 0,
    async look(id) {
      const row = await load(id);
      if (row === undefined) return undefined;
      const [, fingerprint, recordId, status, answer, lapsed] = row;
      return { fingerprint, recordId, status, answer, lapsed };
    },
    takeOver: async ({ id, claim }, fingerprint, before) =>
      (await write('idempotency_take_over', TAKE_OVER, [id, fingerprint, claim, before])).length > 0,
    async renew({ id, claim }) {
      await write('idempotency_renew', RENEW, [id, claim]);
    },
    async finish({ id, claim }, status, answer) {
      await write('idempotency_finish', FINISH, [id, claim, status, answer]);
    },
    async release({ id, claim }, forget) {
      await write('idempotency_release', RELEASE, [id, claim, forget]);
    },
  };
}
