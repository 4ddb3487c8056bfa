import { z } from 'zod';

/** The section `openapi` of the settings. */
export const openapiSettings = z
  .strictObject({
    /** Whether `GET /api/openapi.json` and the reference are served. */
    enabled: z.boolean().default(true),
    /** Whether the reference at `GET /api/docs` is served. */
    docs: z.boolean().default(true),
    title: z.string().min(1).default('API'),
    /** The version of the API, as the team numbers it. */
    version: z.string().min(1).default('1.0.0'),
    /** The introduction of the document, in Markdown. */
    description: z.string().optional(),
  })
  .prefault({});
