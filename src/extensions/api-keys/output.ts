import { z } from 'zod';
import { STATUSES } from './record.ts';

const time = z.iso.datetime();

/** The shape of a key in answers. */
export const keyShape = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    prefix: z.string().meta({ description: 'How it begins', examples: ['svc_ak_1a2B3c'] }),
    scopes: z.array(z.string()),
    status: z.enum(STATUSES),
    createdAt: time,
    lastUsedAt: time.nullable().meta({ description: 'Written at most once a minute' }),
    lastUsedIp: z.string().nullable(),
    expiresAt: time.nullable().meta({ description: 'Null: never' }),
  })
  .meta({ id: 'ApiKey' });

/** The shape of the answer to a create. */
export const newKeyShape = keyShape
  .extend({
    key: z.string().meta({ description: 'Sent as `Authorization: Bearer …`. It is shown this once.' }),
    note: z.string(),
  })
  .meta({ id: 'NewApiKey' });

/** The shape of a key with its owner. */
export const ownedKeyShape = keyShape
  .extend({
    owner: z
      .strictObject({ id: z.string(), name: z.string().nullable(), email: z.string().nullable() })
      .meta({ description: 'Without name and e-mail when the account is gone' }),
  })
  .meta({ id: 'OwnedApiKey' });

/** The shape of a scope in the list of all. */
export const scopeShape = z.strictObject({ scope: z.string(), description: z.string() }).meta({ id: 'ApiKeyScope' });
