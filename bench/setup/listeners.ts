import { createHash } from 'node:crypto';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** Returns the session token of a listener. */
export const getListenerToken = (listener: number) => `svc_${sha256(`listener ${listener}`)}`;

/** Creates users that listen, each with a session of their own. $1 their number. */
export const INSERT_LISTENERS = `
  with made as (
    insert into users (id, name, email, password, roles, status, created_at, updated_at)
    select 'd' || lpad(to_hex(n), 23, '0'), 'Listener ' || n, 'listener' || n || '@example.com', '', '{user}', 'active', now(), now()
    from generate_series(0, $1::int - 1) n)
  insert into sessions (id, user_id, token_hash, expires_at, ip, user_agent)
  select 'e' || lpad(to_hex(n), 23, '0'), 'd' || lpad(to_hex(n), 23, '0'),
    encode(sha256(convert_to('svc_' || encode(sha256(convert_to('listener ' || n, 'UTF8')), 'hex'), 'UTF8')), 'hex'),
    now() + interval '1 day', '127.0.0.1', 'bench'
  from generate_series(0, $1::int - 1) n`;
