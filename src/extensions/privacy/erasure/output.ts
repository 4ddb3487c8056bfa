import { z } from 'zod';

const counts = (description: string) => z.record(z.string(), z.int()).meta({ description });

/** An erasure in responses. */
export const erasureShape = z
  .strictObject({
    id: z.string(),
    user: z.string().meta({ description: 'The id of the user' }),
    requestedBy: z.string().meta({ description: 'The user themselves, or an admin' }),
    status: z.enum(['running', 'finished']),
    requestedAt: z.iso.datetime(),
    finishedAt: z.iso.datetime().nullable(),
    deleted: counts('Deleted records, by resource'),
    anonymized: counts('Anonymized records, without owner and personal data, by resource'),
    erased: counts('Other deleted or anonymized rows: sessions, devices, keys'),
    kept: z
      .array(z.strictObject({ name: z.string(), count: z.int().nullable(), why: z.string() }))
      .meta({ description: 'What is kept, and why; available when the erasure is finished' }),
  })
  .meta({ id: 'Erasure' });

/** The response to a user who requests the erasure of their account. */
export const askedShape = z
  .strictObject({
    id: z.string().meta({ description: 'The id of the erasure, for support requests' }),
    status: z.string(),
  })
  .meta({ id: 'ErasureAsked' });
