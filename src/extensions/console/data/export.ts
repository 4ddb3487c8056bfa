import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { ApiError, type RouteContext } from '../../../extension/index.ts';
import { createRowFormatter, exportColumnsOf } from '../../../records/bulk/format-rows.ts';
import type { ConsoleAccess } from '../access/access.ts';
import { type DataContext, withClientInput } from './context.ts';
import { assertNothingSecret } from './query.ts';

/** The parameters of an export besides those of the list. */
const exportOptions = z.object({
  format: z.enum(['csv', 'ndjson'], { error: 'must be csv or ndjson' }),
  forSpreadsheet: z.enum(['true', 'false'], { error: 'must be true or false' }).default('true'),
});

const MEDIA_TYPES = { csv: 'text/csv; charset=utf-8', ndjson: 'application/x-ndjson; charset=utf-8' };

/** Interval in ms at which the access of the caller is checked again: an export may take minutes. */
const CHECK_ACCESS_MS = 2000;

/** Parameters of a list that an export does not have. */
const REFUSED_PARAMETERS = ['as', 'include', 'fields', 'page', 'limit', 'after', 'count'];

function readExportOptions(query: Readonly<Record<string, unknown>>) {
  const { data, error } = exportOptions.safeParse(query);
  if (error === undefined) return data;
  const { path, message } = error.issues[0]!;
  throw new ApiError('BAD_REQUEST', `The query parameter "${path.join('.')}" ${message}`);
}

/**
 * Handles `GET /records/:resource/export`: streams all records of a list as a file, in constant memory. Encrypted values are left out, like
 * passwords and write-only values. In CSV, texts that a spreadsheet would calculate as formulas get an apostrophe, unless
 * `forSpreadsheet=false`. An export is recorded in the audit trail. It breaks off if the caller loses their access.
 */
export async function exportRecords(
  data: DataContext,
  isStillAllowed: ConsoleAccess['isStillAllowed'],
  ctx: RouteContext,
): Promise<void> {
  const { host } = data;
  const { params, query, req, res } = ctx;
  const gateway = data.gateway(params.resource);
  const { format, forSpreadsheet: _, ...list } = query as Record<string, unknown>;
  const options = readExportOptions(query);
  const refused = REFUSED_PARAMETERS.find((name) => Object.hasOwn(list, name));
  if (refused !== undefined) throw new ApiError('BAD_REQUEST', `Unknown query parameter "${refused}"`);
  assertNothingSecret(data, gateway, list);
  const resource = host.bulk.resource(gateway.name);
  const readable = resource.readable.filter(({ spec }) => !spec.encrypted);
  const columns = exportColumnsOf({ ...resource, readable });
  const rows = createRowFormatter({ readable }, columns, {
    format: options.format,
    forSpreadsheet: options.forSpreadsheet === 'true',
  });
  const pages = resource.read(list);
  // The first page shows whether the query is valid, while an error can still be sent.
  const first = await withClientInput(() => pages.next());
  const details = { format: options.format, parameters: Object.keys(list) };
  const action = { action: 'console.exported', resource: gateway.name, record: null, details };
  await host.auditTrail()?.add(action, req, host.database);

  async function* formatPages(): AsyncGenerator<string> {
    yield rows.header;
    if (first.done) return;
    yield rows.format(first.value);
    let checkAt = performance.now() + CHECK_ACCESS_MS;
    for await (const page of pages) {
      if (performance.now() > checkAt) {
        if (!(await isStillAllowed(ctx))) throw new ApiError('FORBIDDEN');
        checkAt = performance.now() + CHECK_ACCESS_MS;
      }
      yield rows.format(page);
    }
  }

  res.writeHead(200, {
    'Content-Type': MEDIA_TYPES[options.format],
    'Content-Disposition': `attachment; filename="${gateway.name}.${options.format}"`,
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; sandbox",
  });
  if (req.method === 'HEAD') {
    await pages.return(undefined);
    res.end();
    return;
  }
  await pipeline(Readable.from(formatPages()), res).catch((error: unknown) => {
    // A client that disconnects has cancelled its download.
    if ((error as { code?: unknown }).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  });
}
