import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { BinaryBody } from '../../../declare/body.ts';
import type { RouteContext } from '../../../declare/route.ts';
import { ApiError, validationError } from '../../../platform/errors.ts';
import { type FileRow, readRows } from '../../../records/bulk/read-rows.ts';
import { createRowConverter, writeRows } from '../../../records/bulk/write-rows.ts';
import type { ConsoleAccess } from '../access.ts';
import type { DataContext } from './context.ts';
import { passwordFieldsOf } from './field-info.ts';

const MAX_BYTES = 50 * 2 ** 20;
const MAX_ROWS = 100_000;
/** Rejected rows in the response; it counts all of them. */
const MAX_REPORTED = 200;

/** The body of an import. */
export const IMPORT_BODY: BinaryBody = {
  kind: 'binary',
  types: ['text/csv', 'application/x-ndjson', 'application/octet-stream'],
  maxBytes: MAX_BYTES,
};

/** The query parameters of an import. */
export const importQuery = z.strictObject({
  format: z.enum(['csv', 'ndjson'], { error: 'Must be csv or ndjson' }),
  mode: z.enum(['check', 'write'], { error: 'Must be check or write' }),
  upsertBy: z.string().max(100).optional(),
});

/** The result of an import. */
interface ImportResult {
  rows: number;
  /** With `check`: the rows that would be written. */
  written: number;
  rejected: number;
  /** The first rejected rows. */
  errors: { row: number; errors: Readonly<Record<string, string>> }[];
}

/** Converts an error in the file itself, such as an unknown column, to one of the client. */
async function readFile<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ApiError || (error as { code?: unknown }).code !== undefined) throw error;
    throw validationError({ file: (error as Error).message });
  }
}

/** Yields rows, and refuses a file with too many. */
async function* limitRows(rows: AsyncIterable<FileRow>): AsyncGenerator<FileRow> {
  for await (const row of rows) {
    if (row.row > MAX_ROWS)
      throw validationError({
        file: `Has more than ${MAX_ROWS.toLocaleString('en')} rows. Split it, or use the command belfry import. Earlier rows were handled.`,
      });
    yield row;
  }
}

/**
 * Handles `POST /records/:resource/import`: writes the rows of a file with system privilege, each by itself, in constant memory; with
 * `mode=check`, only finds errors.
 *
 * @param isStillAllowed asked after each chunk, because an import may outlast the access of its caller
 */
export async function importRecords(
  data: DataContext,
  isStillAllowed: ConsoleAccess['isStillAllowed'],
  ctx: RouteContext,
): Promise<ImportResult> {
  const gateway = data.gateway(ctx.params.resource);
  const { format, mode, upsertBy } = ctx.query as unknown as z.output<typeof importQuery>;
  const declared = data.host.bulk.resource(gateway.name);
  const passwords = passwordFieldsOf(gateway.declaration);
  const resource = { ...declared, writable: declared.writable.filter(({ name }) => !passwords.includes(name)) };
  if (upsertBy !== undefined && !resource.upsertFields().includes(upsertBy))
    throw new ApiError('BAD_REQUEST', 'The query parameter "upsertBy" must be a unique field');
  const { header, rows } = await readFile(() => readRows(ctx.body as Readable, format));
  const options = {
    map: new Map<string, string>(),
    keepIds: false,
    keepTimes: false,
    isUpsert: upsertBy !== undefined,
  };
  const convert = await readFile(() => createRowConverter(resource, { header }, options));
  if (upsertBy !== undefined && header !== undefined && !header.includes(upsertBy))
    throw validationError({ file: `Has no column "${upsertBy}"` });
  const errors: ImportResult['errors'] = [];
  let rejected = 0;
  const totals = await readFile(() =>
    writeRows(
      {
        resource,
        write: { upsertBy, dryRun: mode === 'check' },
        convert,
        onRejected({ row }, messages) {
          rejected++;
          if (errors.length < MAX_REPORTED) errors.push({ row, errors: messages });
        },
        async onChunk({ row }) {
          if (!(await isStillAllowed(ctx)))
            throw new ApiError('FORBIDDEN', `Your access has ended. Rows up to ${row} were handled`);
        },
      },
      limitRows(rows),
    ),
  );
  return { rows: totals.row, written: totals.written, rejected, errors };
}
