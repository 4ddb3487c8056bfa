import { z } from 'zod';

/** The states of a key. */
export const STATUSES = ['active', 'expired', 'revoked'] as const;

/** A value of `STATUSES`. */
export type KeyStatus = (typeof STATUSES)[number];

/** The status of a key in SQL. */
export const KEY_STATUS = `case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' else 'active' end`;

/** The columns of a key that responses contain: all but its owner, its hash and the time of its revocation. */
export const API_KEY_COLUMNS = `
  id, name, prefix, scopes, ${KEY_STATUS}, created_at, last_used_at, last_used_ip, expires_at, organisation, organisation_role`;

/** A row of `API_KEY_COLUMNS`. */
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
  organisation: string | null,
  organisationRole: string | null,
];

/** A key in responses. */
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
  organisation?: string;
  as?: string;
}

/** A role in an organisation as policies write it: `org:admin`. */
export const toRoleWord = (role: string) => `org:${role}`;

/** Converts a row to the key in responses. */
export function toKeyRecord(row: ApiKeyRow): ApiKeyRecord {
  const [id, name, prefix, scopes, status, createdAt, lastUsedAt, lastUsedIp, expiresAt, organisation, role] = row;
  return {
    ...{ id, name, prefix, scopes, status, createdAt, lastUsedAt, lastUsedIp, expiresAt },
    ...(organisation !== null && { organisation }),
    ...(role !== null && { as: toRoleWord(role) }),
  };
}

const time = z.iso.datetime();

/** The schema of a key in responses. */
export const keyShape = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    prefix: z.string().meta({ description: 'The first characters of the key', examples: ['svc_ak_1a2B3c'] }),
    scopes: z.array(z.string()),
    status: z.enum(STATUSES),
    createdAt: time,
    lastUsedAt: time.nullable().meta({ description: 'Updated at most once a minute' }),
    lastUsedIp: z.string().nullable(),
    expiresAt: time.nullable().meta({ description: 'Null if the key never expires' }),
    organisation: z.string().optional().meta({ description: 'The id of the only organisation that the key can reach' }),
    as: z
      .string()
      .optional()
      .meta({
        description: 'The role as which the key acts, if it belongs to the organisation and not to a user',
        examples: ['org:member'],
      }),
  })
  .meta({ id: 'ApiKey' });

/** The response to the creation of a key. */
export const newKeyShape = keyShape
  .extend({
    key: z.string().meta({ description: 'Send it as `Authorization: Bearer …`. It is only returned here.' }),
    note: z.string(),
  })
  .meta({ id: 'NewApiKey' });

/** A key with its owner, for admins. */
export const ownedKeyShape = keyShape
  .extend({
    owner: z.strictObject({ id: z.string(), name: z.string().nullable(), email: z.string().nullable() }).meta({
      description:
        'A user, or an organisation, which has no e-mail. Name and e-mail are null if the owner no longer exists',
    }),
  })
  .meta({ id: 'OwnedApiKey' });

/** A scope in the list of all scopes. */
export const scopeShape = z.strictObject({ scope: z.string(), description: z.string() }).meta({ id: 'ApiKeyScope' });
