import { z } from 'zod';
import { countParameter, isId, type Route } from '../../../extension/index.ts';
import type { ConsoleAccess } from '../access/access.ts';
import { NO_FIELDS, type TabLink } from '../access/tabs.ts';
import { createAppInfoReader } from './app-info.ts';
import type { ChangeFeed } from './changes.ts';
import type { DataContext } from './context.ts';
import { exportRecords } from './export.ts';
import { historyQuery, readHistory } from './history.ts';
import { IMPORT_BODY, importQuery, importRecords } from './import.ts';
import { findRecordOptions, readLabels } from './labels.ts';
import { listRecords, readRecord, revealBody, revealValue } from './read.ts';
import { UPLOAD_BODY, uploadFile, uploadQuery } from './upload.ts';
import {
  bulkBody,
  changeManyRecords,
  codeBody,
  createRecord,
  deleteRecord,
  restoreRecord,
  updateRecord,
} from './writes.ts';

const optionsQuery = z.strictObject({
  q: z.string({ error: 'Must be a text' }).max(200, { error: 'Must have at most 200 characters' }).optional(),
  limit: countParameter(50, 20),
});

const MAX_LABELS = 100;
const labelsQuery = z.strictObject({
  ids: z
    .string({ error: 'Must be a list of ids, separated by commas' })
    .transform((text) => text.split(','))
    .refine((ids) => ids.length <= MAX_LABELS && ids.every(isId), { error: `Must be up to ${MAX_LABELS} ids` }),
});

const changesQuery = z.strictObject({ resource: z.string().optional() });

/** The routes of the data browser, below `path`. */
export function dataRoutes(
  path: string,
  data: DataContext,
  {
    access: { route: access, isStillAllowed },
    tabs,
    findScript,
    feed,
  }: { access: ConsoleAccess; tabs: readonly TabLink[]; findScript: () => Promise<string>; feed: ChangeFeed },
): Route[] {
  const readAppInfo = createAppInfoReader(data, { tabs, findScript });
  const record = `${path}/records/:resource`;
  // Writes act as the system: a viewer in their query would be misleading.
  const write = { ...access, query: NO_FIELDS };
  return [
    { ...access, method: 'GET', path: `${path}/app`, query: NO_FIELDS, handler: readAppInfo },
    { ...access, method: 'GET', path: record, handler: (ctx) => listRecords(data, ctx) },
    // Before the routes of a record, in which `/:id` also matches the path.
    {
      ...write,
      method: 'POST',
      path: `${record}/bulk`,
      input: bulkBody,
      handler: (ctx) => changeManyRecords(data, ctx),
    },
    { ...access, method: 'GET', path: `${record}/export`, handler: (ctx) => exportRecords(data, isStillAllowed, ctx) },
    {
      ...access,
      method: 'POST',
      path: `${record}/import`,
      query: importQuery,
      body: IMPORT_BODY,
      handler: (ctx) => importRecords(data, isStillAllowed, ctx),
    },
    {
      ...access,
      method: 'POST',
      path: `${record}/files/:field`,
      query: uploadQuery,
      body: UPLOAD_BODY,
      status: 201,
      handler: (ctx) => uploadFile(data, ctx),
    },
    { ...access, method: 'GET', path: `${record}/:id`, handler: (ctx) => readRecord(data, ctx) },
    {
      ...write,
      method: 'POST',
      path: record,
      body: 'json',
      status: 201,
      handler: (ctx) => createRecord(data, ctx),
    },
    {
      ...write,
      method: 'PATCH',
      path: `${record}/:id`,
      body: 'json',
      checksIfMatch: true,
      handler: (ctx) => updateRecord(data, ctx),
    },
    {
      ...write,
      method: 'DELETE',
      path: `${record}/:id`,
      input: codeBody,
      checksIfMatch: true,
      handler: (ctx) => deleteRecord(data, ctx),
    },
    {
      ...access,
      method: 'GET',
      path: `${record}/:id/history`,
      query: historyQuery,
      handler: (ctx) => readHistory(data, ctx),
    },
    {
      ...write,
      method: 'POST',
      path: `${record}/:id/reveal`,
      input: revealBody,
      handler: (ctx) => revealValue(data, ctx),
    },
    {
      ...write,
      method: 'POST',
      path: `${record}/:id/restore`,
      input: codeBody,
      handler: (ctx) => restoreRecord(data, ctx),
    },
    {
      ...access,
      method: 'GET',
      path: `${path}/references/:resource`,
      query: optionsQuery,
      handler: ({ params, query }) =>
        findRecordOptions(data, data.gateway(params.resource), query as unknown as z.output<typeof optionsQuery>),
    },
    {
      ...access,
      method: 'GET',
      path: `${path}/labels/:resource`,
      query: labelsQuery,
      handler: ({ params, query }) =>
        readLabels(data, data.gateway(params.resource), (query as unknown as z.output<typeof labelsQuery>).ids),
    },
    {
      ...access,
      method: 'GET',
      path: `${path}/changes`,
      query: changesQuery,
      handler(ctx) {
        const { resource } = ctx.query as unknown as z.output<typeof changesQuery>;
        feed.openStream(ctx, resource === undefined ? undefined : data.gateway(resource).name);
      },
    },
  ];
}
