import { createApp, defineResource, defineUser, f } from '../../src/index.ts';

/** Rows of each table: the same lists are asked of both. */
export const ROWS = { few: 10_000, many: 1_000_000 } as const;

/** One of two tables that are alike but for their number of rows. */
export type Size = keyof typeof ROWS;

const entry = (name: Size) =>
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
  });

/** The app whose lists are measured as they grow. */
export function scaleApp(environment: Record<string, string | undefined>) {
  const settings = { rateLimit: { enabled: false } };
  return createApp({ resources: [defineUser(), entry('few'), entry('many')], settings }, environment);
}
