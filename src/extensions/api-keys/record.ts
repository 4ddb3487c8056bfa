/** What a key can be. */
export const STATUSES = ['active', 'expired', 'revoked'] as const;

/** One of them. */
export type KeyStatus = (typeof STATUSES)[number];

/** The columns that a key is shown from. Its hash is not among them. */
export const API_KEY_COLUMNS = `
  id, name, prefix, scopes,
  case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' else 'active' end,
  created_at, last_used_at, last_used_ip, expires_at`;

/** A row of these columns. */
export type ApiKeyRow = [
  id: string,
  name: string,
  prefix: string,
  scopes: string[],
  status: KeyStatus,
  createdAt: string,
  lastUsedAt: string | null,
  lastUsedIp: string | null,
  expiresAt: string | null,
];

/** A key as answers show it. */
export interface ApiKeyRecord {
  id: string;
  name: string;
  prefix: string;
  scopes: string[];
  status: KeyStatus;
  createdAt: string;
  lastUsedAt: string | null;
  lastUsedIp: string | null;
  expiresAt: string | null;
}

/** A row as answers show it. */
export function showKey(row: ApiKeyRow): ApiKeyRecord {
  const [id, name, prefix, scopes, status, createdAt, lastUsedAt, lastUsedIp, expiresAt] = row;
  return { id, name, prefix, scopes, status, createdAt, lastUsedAt, lastUsedIp, expiresAt };
}
