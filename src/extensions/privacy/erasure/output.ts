import { z } from 'zod';

const counts = (description: string) => z.record(z.string(), z.int()).meta({ description });

/** The shape of an erasure. */
export const erasureShape = z
  .strictObject({
    id: z.string(),
    user: z.string().meta({ description: 'The id of the user' }),
    requestedBy: z.string().meta({ description: 'The user themselves, or an admin' }),
    status: z.enum(['running', 'finished']),
    requestedAt: z.iso.datetime(),
    finishedAt: z.iso.datetime().nullable(),
    deleted: counts('Records that are gone, by resource'),
    anonymized: counts('Records that are nobody’s now and hold nothing personal, by resource'),
    erased: counts('Other rows that are gone or nobody’s: sessions, devices, keys'),
    kept: z
      .array(z.strictObject({ name: z.string(), count: z.int().nullable(), why: z.string() }))
      .meta({ description: 'What stays, and why; told once it is finished' }),
  })
  .meta({ id: 'Erasure' });

/** What a user is told whose account is being erased. */
export const askedShape = z
  .strictObject({ id: z.string().meta({ description: 'Of the erasure, for questions about it' }), status: z.string() })
  .meta({ id: 'ErasureAsked' });
