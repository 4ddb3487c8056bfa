import { createApp, defineResource, defineUser, f } from '../../src/index.ts';

/** Rows of each table. Both tables get the same requests. */
export const ROWS = { few: 10_000, many: 1_000_000 } as const;

/** One of two tables that differ only in their number of rows. */
export type Size = keyof typeof ROWS;

const defineEntry = (name: Size) =>
  defineResource(name, {
    path: `/${name}`,
    collection: name,
    fields: {
      title: f.string().required().max(200).searchable().sortable(),
      body: f.text().max(20_000),
      category: f.string().max(40).filterable(),
      status: f.enum(['draft', 'published']).default('draft').filterable(),
      author: f.ref('user').owner(),
    },
    policies: { list: 'owner | admin' },
    indexes: [{ fields: ['updatedAt', 'id'] }],
  });

/** The app of the scale measurements. */
export function createScaleApp(environment: Record<string, string | undefined>) {
  const settings = { rateLimit: { enabled: false } };
  return createApp({ resources: [defineUser(), defineEntry('few'), defineEntry('many')], settings }, environment);
}
