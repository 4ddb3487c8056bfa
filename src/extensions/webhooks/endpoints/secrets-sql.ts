import { ENDPOINT_COLUMNS } from './endpoint.ts';
import { bind, mayBind } from './endpoints-sql.ts';

/** Old secrets of endpoint `e` that messages are still signed with; null: none. */
export const OLD_SECRETS = `case when e.previous_secret_until > now() then e.previous_secret end as previous_secret,
      case when e.older_secret_until > now() then e.older_secret end as older_secret`;

/**
 * $1 id, $2 owner, $3 the new secret, $4 ms for which the old one is still used; 0: it is forgotten at once, $5 the new public key, $6 to $9 see `bind`. All secrets of an endpoint
 * are bound to the same words, so that a ciphertext may change its column.
 */
export const ROTATE = `
  update webhook_endpoints e set
    secret = $3,
    public_key = $5,
    previous_secret = case when $4 > 0 then e.secret end,
    previous_secret_until = case when $4 > 0 then now() + $4 * interval '1 millisecond' end,
    older_secret = case when $4 > 0 and e.previous_secret_until > now() then e.previous_secret end,
    older_secret_until = case when $4 > 0 and e.previous_secret_until > now()
      then least(e.previous_secret_until, now() + $4 * interval '1 millisecond') end,
    ${bind(6)},
    updated_at = now()
  where e.id = $1 and e.owner_id = $2 and e.removed_at is null and ${mayBind('e.', 6)}
  returning ${ENDPOINT_COLUMNS.map((column) => `e.${column}`).join(', ')}`;

/** Forgets old secrets whose time is over. By webhook_endpoints_previous_secret_index: an older one never outlives the previous. */
export const FORGET_OLD_SECRETS = `
  update webhook_endpoints set previous_secret = null, previous_secret_until = null, older_secret = null, older_secret_until = null
  where previous_secret_until <= now()`;
