import { z } from 'zod';

const id = z.string().nullable();

/** The shape of an entry in answers. */
export const entryShape = z
  .strictObject({
    id: z.int().meta({ description: 'Its place in the chain' }),
    at: z.iso.datetime().meta({ description: 'When it happened' }),
    action: z.string().meta({ description: '`created`, `updated`, `deleted`, `restored`, or an event: `auth.login`' }),
    resource: z.string().nullable(),
    record: id,
    user: id.meta({ description: 'Whose doing it was' }),
    via: z.string().nullable().meta({ description: '`session`, `api-key`, or `system` for code on nobody’s behalf' }),
    credential: id.meta({ description: 'The id of the session or key' }),
    ip: z.string().nullable(),
    requestId: z.string().nullable(),
    changes: z
      .record(
        z.string(),
        z.union([
          z.strictObject({ from: z.unknown().optional(), to: z.unknown().optional() }),
          z.strictObject({ changed: z.literal(true) }),
        ]),
      )
      .nullable()
      .meta({ description: 'By field. Secret values are told as `changed`; what is personal is masked.' }),
    details: z.record(z.string(), z.unknown()).nullable(),
  })
  .meta({ id: 'AuditEntry' });
