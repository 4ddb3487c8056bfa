import { PassThrough, type Readable } from 'node:stream';
import { z } from 'zod';
import { ApiError, type BinaryBody, type RouteContext, validationError } from '../../../extension/index.ts';
import { type FileRow, readRows } from '../../../records/bulk/read-rows.ts';
import { createRowConverter, writeRows } from '../../../records/bulk/write-rows.ts';
import type { ConsoleAccess } from '../access/access.ts';
import { listAccountFields, listFieldsOfNewAccount } from './accounts.ts';
import type { DataContext } from './context.ts';
import { isSecretField, passwordFieldsOf } from './field-info.ts';

const MAX_BYTES = 50 * 2 ** 20;
const MAX_ROWS = 100_000;
/** Rejected rows in the response; it counts all of them. */
const MAX_REPORTED = 1000;
/** ms in which a file must have been read. Empty lines contain no rows, so without a limit they would keep an import open. */
const MAX_OPEN_MS = 10 * 60_000;

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
  keepIds: z.enum(['true', 'false'], { error: 'Must be true or false' }).default('false'),
});

/** The result of an import. */
interface ImportResult {
  rows: number;
  /** With `check`: the rows that would be written. */
  written: number;
  rejected: number;
  /** The first rejected rows. */
  errors: { row: number; errors: Readonly<Record<string, string>> }[];
  /** What the file contains that the import does not use as the administrator may expect. */
  warnings: string[];
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

/** Reads a body until its end or until a signal, after which it fails with an error for the client. */
function readUntil(body: Readable, signal: AbortSignal): Readable {
  const limited = new PassThrough();
  body.on('error', (error) => limited.destroy(error));
  const stop = () => {
    body.unpipe(limited);
    limited.destroy(
      validationError({
        file: `Took longer than ${MAX_OPEN_MS / 60_000} minutes. Split it, or use the command belfry import. Earlier rows may have been handled.`,
      }),
    );
  };
  signal.addEventListener('abort', stop, { once: true });
  body.once('close', () => signal.removeEventListener('abort', stop));
  return body.pipe(limited);
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
 * The audit trail has an entry for each import and for each check, because both reveal which unique values are taken.
 *
 * @param isStillAllowed asked before each chunk is written, because an import may outlast the access of its caller
 */
export async function importRecords(
  data: DataContext,
  isStillAllowed: ConsoleAccess['isStillAllowed'],
  ctx: RouteContext,
): Promise<ImportResult> {
  const gateway = data.gateway(ctx.params.resource);
  const { format, mode, upsertBy, ...query } = ctx.query as unknown as z.output<typeof importQuery>;
  const keepIds = query.keepIds === 'true';
  const declared = data.host.bulk.resource(gateway.name);
  const passwords = passwordFieldsOf(gateway.declaration);
  // A row may change the user with its address, but not the address itself.
  const isByAddress = upsertBy === undefined || upsertBy === 'email';
  const readOnly = isByAddress ? listFieldsOfNewAccount(data, gateway) : listAccountFields(data, gateway);
  const excluded = [...passwords, ...readOnly];
  const resource = { ...declared, writable: declared.writable.filter(({ name }) => !excluded.includes(name)) };
  const isSecret = resource.writable.some(({ name, spec }) => name === upsertBy && isSecretField(spec));
  if (upsertBy !== undefined && (isSecret || !resource.upsertFields().includes(upsertBy)))
    throw new ApiError('BAD_REQUEST', 'The query parameter "upsertBy" must be a unique field whose values are shown');
  const body = readUntil(ctx.body as Readable, AbortSignal.timeout(MAX_OPEN_MS));
  const { header, rows, notice } = await readFile(() => readRows(body, { format }));
  const options = {
    map: new Map<string, string>(),
    keepIds,
    // Records that are moved in with their ids keep their history as well.
    keepTimes: keepIds && resource.timestamps,
    isUpsert: upsertBy !== undefined,
  };
  const refused = readOnly.find((name) => header?.includes(name));
  if (refused !== undefined)
    throw validationError({ file: `The column "${refused}" is read-only here; change it in the Accounts tab` });
  const convert = await readFile(() => createRowConverter(resource, { header }, options));
  if (upsertBy !== undefined && header !== undefined && !header.includes(upsertBy))
    throw validationError({ file: `Has no column "${upsertBy}"` });
  await data.host.auditTrail()?.add(
    {
      action: mode === 'check' ? 'console.importChecked' : 'console.imported',
      resource: gateway.name,
      record: null,
      details: { format, ...(upsertBy !== undefined && { upsertBy }), ...(keepIds && { keepIds }) },
    },
    ctx.req,
    data.host.database,
  );
  const translation = data.host.languages.for(ctx.req);
  let hasIds = header?.includes('id') ?? false;
  const errors: ImportResult['errors'] = [];
  let rejected = 0;
  const totals = await readFile(() =>
    writeRows(
      {
        resource,
        write: { upsertBy, dryRun: mode === 'check' },
        convert(row) {
          if (header === undefined && Object.hasOwn(row.content, 'id')) hasIds = true;
          return convert(row);
        },
        onRejected({ row }, messages) {
          rejected++;
          if (errors.length < MAX_REPORTED) errors.push({ row, errors: translation.details(messages) });
        },
        async beforeChunk({ row }) {
          if (!(await isStillAllowed(ctx)))
            throw new ApiError('FORBIDDEN', `Your access has ended. Rows up to ${row} were handled`);
        },
      },
      limitRows(rows),
    ),
  );
  const warnings = notice === undefined ? [] : [translation.text(notice)];
  if (hasIds && upsertBy === undefined && !keepIds)
    warnings.push(translation.text('The column id is ignored: every row creates a new record'));
  return { rows: totals.row, written: totals.written, rejected, errors, warnings };
}
