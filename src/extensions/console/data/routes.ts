import { z } from 'zod';
import type { Route } from '../../../declare/route.ts';
import type { ConsoleAccess } from '../access.ts';
import { type ConsoleTab, createAppInfoReader } from './app-info.ts';
import type { DataContext } from './context.ts';
import { findRecordOptions } from './labels.ts';
import { listRecords, readRecord } from './read.ts';

const MAX_OPTIONS = 50;
const limitError = { error: `Must be a whole number from 1 to ${MAX_OPTIONS}` };

const optionsQuery = z.strictObject({
  q: z.string({ error: 'Must be a text' }).max(200, { error: 'Must have at most 200 characters' }).optional(),
  limit: z.coerce.number(limitError).int(limitError).min(1, limitError).max(MAX_OPTIONS, limitError).default(20),
});

/** The routes of the data browser, below `path`. */
export function dataRoutes(
  path: string,
  data: DataContext,
  { access, tabs }: { access: ConsoleAccess; tabs: readonly ConsoleTab[] },
): Route[] {
  const readAppInfo = createAppInfoReader(data, tabs);
  const record = `${path}/records/:resource`;
  return [
    { ...access, method: 'GET', path: `${path}/app`, handler: readAppInfo },
    { ...access, method: 'GET', path: record, handler: (ctx) => listRecords(data, ctx) },
    { ...access, method: 'GET', path: `${record}/:id`, handler: (ctx) => readRecord(data, ctx) },
    {
      ...access,
      method: 'GET',
      path: `${path}/references/:resource`,
      query: optionsQuery,
      handler: ({ params, query }) =>
        findRecordOptions(data, data.gateway(params.resource), query as unknown as z.output<typeof optionsQuery>),
    },
  ];
}
