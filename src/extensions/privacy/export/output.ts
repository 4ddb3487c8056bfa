import { z } from 'zod';

const time = z.iso.datetime();

/** The shape of an export in answers. */
export const exportShape = z
  .strictObject({
    id: z.string(),
    status: z.enum(['preparing', 'ready', 'failed']),
    records: z.int().meta({ description: 'So far' }),
    bytes: z.int().nullable().meta({ description: 'Of the file; null until it is ready' }),
    requestedAt: time,
    finishedAt: time.nullable(),
    expiresAt: time.nullable().meta({ description: 'Until then the link works; a failure is told until then' }),
    url: z
      .url()
      .nullable()
      .meta({ description: 'Where the zip is fetched, without signing in; null until it is ready' }),
  })
  .meta({ id: 'DataExport' });
