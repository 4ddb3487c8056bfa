import { createBatchLoader } from '../../../platform/helpers/concurrency/loader.ts';
import type { Platform } from '../../../platform/platform.ts';
import { createLeaseRenewals, type LeaseRenewals } from '../../../platform/work/leased-work/lease.ts';

const LEASE = `interval '60 seconds'`;
const RENEW_MS = 20_000;
/** SQL interval for which a key and its response are stored. */
export const RETENTION = `interval '24 hours'`;

// In these statements, the fence is the column `claim`, a random id. All of them use the primary key.

// A row that is older than the retention but was not removed yet is claimed like a new key.
const CLAIM = `
  insert into idempotency_keys as k (id, fingerprint, record_id, claim, claimed_until)
  values ($1, $2, $3, $4, now() + ${LEASE})
  on conflict (id) do update set
    fingerprint = excluded.fingerprint, record_id = excluded.record_id, claim = excluded.claim,
    claimed_until = excluded.claimed_until, status = null, answer = null, created_at = now()
  where k.created_at <= now() - ${RETENTION}
  returning 1`;
const READ = `
  select id, fingerprint, record_id, status, answer, claimed_until <= now() from idempotency_keys
  where id = any($1) and created_at > now() - ${RETENTION}`;
const RECLAIM = `
  update idempotency_keys set fingerprint = $2, claim = $3, claimed_until = now() + ${LEASE}
  where id = $1 and status is null and claimed_until <= now() and (fingerprint is null or fingerprint = $4)
  returning 1`;
const RENEW = `
  update idempotency_keys i set claimed_until = now() + ${LEASE}
  from unnest($1::text[], $2::text[]) k(id, claim) where i.id = k.id and i.claim = k.claim and i.status is null`;
const FINISH = 'update idempotency_keys set status = $3, answer = $4 where id = $1 and claim = $2';
const RELEASE = `
  update idempotency_keys set claimed_until = now(), fingerprint = case when $3 then null else fingerprint end
  where id = $1 and claim = $2`;

/** The stored state of an idempotency key. */
export interface StoredKey {
  fingerprint: string | null;
  recordId: string;
  /** Null: no response yet. */
  status: number | null;
  response: string | null;
  /** Whether the lease of the key's request has expired: without a response, a repeated request may reclaim the key. */
  expired: boolean;
}

/** The lease that a request holds on its key. */
export interface KeyLease {
  id: string;
  fence: string;
}

/**
 * The keys in Postgres: one row per key, changed by single statements. Writes of a request whose lease was reclaimed change nothing; only
 * the request that holds the lease stores its response.
 */
export interface KeyLeases {
  /** Claims a new key. False if the key is already known. */
  claimKey(lease: KeyLease, fingerprint: string, recordId: string): Promise<boolean>;
  /** Returns the stored state of a key; reads in one turn of the event loop share a query. */
  readStoredKey(id: string): Promise<StoredKey | undefined>;
  /** Claims a key whose lease has expired, unless another request does so first. @param before the fingerprint that was read */
  reclaimKey(lease: KeyLease, fingerprint: string, before: string | null): Promise<boolean>;
  /** Renews leases while their requests run. */
  renewals: LeaseRenewals<KeyLease>;
  /** Stores the response and ends the lease. `null`: the response was too large to store. */
  storeResponse(lease: KeyLease, status: number, response: string | null): Promise<void>;
  /** Ends a lease without a response. @param forget whether a request with another body may then use the key */
  releaseLease(lease: KeyLease, forget: boolean): Promise<void>;
}

type Row = [id: string, string | null, string, number | null, string | null, boolean];

/** Creates the store of keys. */
export function createKeyLeases({ database, log }: Pick<Platform, 'database' | 'log'>): KeyLeases {
  const loadKeyRow = createBatchLoader(
    (ids) => database.read<Row>({ name: 'idempotency_read', text: READ, values: [ids] }),
    ([id]) => id,
  );
  const write = (name: string, text: string, values: unknown[]) => database.write({ name, text, values });
  return {
    claimKey: async ({ id, fence }, fingerprint, recordId) =>
      (await write('idempotency_claim', CLAIM, [id, fingerprint, recordId, fence])).length > 0,
    async readStoredKey(id) {
      const row = await loadKeyRow(id);
      if (row === undefined) return undefined;
      const [, fingerprint, recordId, status, response, expired] = row;
      return { fingerprint, recordId, status, response, expired };
    },
    reclaimKey: async ({ id, fence }, fingerprint, before) =>
      (await write('idempotency_reclaim', RECLAIM, [id, fingerprint, fence, before])).length > 0,
    renewals: createLeaseRenewals({
      everyMs: RENEW_MS,
      what: 'requests with an Idempotency-Key',
      log,
      database,
      async renew(leases) {
        await write('idempotency_renew', RENEW, [leases.map(({ id }) => id), leases.map(({ fence }) => fence)]);
      },
    }),
    async storeResponse({ id, fence }, status, response) {
      await write('idempotency_finish', FINISH, [id, fence, status, response]);
    },
    async releaseLease({ id, fence }, forget) {
      await write('idempotency_release', RELEASE, [id, fence, forget]);
    },
  };
}
