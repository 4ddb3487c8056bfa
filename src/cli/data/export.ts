import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { stringify } from 'csv-stringify/sync';
import { suggestKnownNames } from '../../platform/config/did-you-mean.ts';
import type { OpenedApp } from '../project.ts';
import { pluralize } from '../terminal.ts';
import { formatCell, type Resource } from './cells.ts';
import { createProgress } from './progress.ts';
import type { Format } from './read-rows.ts';
import { readViewer } from './viewer.ts';

/** The options of `export`. */
export interface ExportOptions {
  format: Format;
  /** Default: all. */
  fields?: readonly string[];
  /** Filters as in a query string: `state=open`, `price[gte]=5`. */
  where: Record<string, string>;
  /** Default: standard output. */
  out?: string;
  user?: string;
  forSpreadsheet?: boolean;
}

function columnsOf(resource: Resource, fields: readonly string[] | undefined): string[] {
  const times = resource.timestamps ? ['createdAt', 'updatedAt'] : [];
  const all = ['id', ...resource.readable.map(({ name }) => name), ...times];
  const unknown = fields?.find((name) => !all.includes(name));
  if (unknown !== undefined)
    throw new Error(`--fields: "${unknown}" cannot be exported${suggestKnownNames(unknown, 'fields', all)}`);
  return [...(fields ?? all)];
}

/** Creates the function that formats records as lines. */
function createFormatter(
  resource: Resource,
  columns: readonly string[],
  { format, forSpreadsheet = false }: ExportOptions,
): (records: readonly Record<string, unknown>[]) => string {
  if (format === 'ndjson') {
    return (records) =>
      records
        .map((record) => `${JSON.stringify(Object.fromEntries(columns.map((name) => [name, record[name]])))}\n`)
        .join('');
  }
  const types = new Map(resource.readable.map(({ name, type }) => [name, type.jsonType as string]));
  return (records) =>
    stringify(
      records.map((record) =>
        columns.map((name) => formatCell(record[name], types.get(name) ?? 'string', forSpreadsheet)),
      ),
    );
}

/** Opens the output. A file can be read only by its owner, because it may contain personal data. */
function openOutput(out: string | undefined): Writable {
  return out === undefined ? process.stdout : createWriteStream(out, { mode: 0o600 });
}

/**
 * Exports all records that match the filters, in the order of their ids, in constant memory. The number of records is printed on standard
 * error.
 */
export async function exportRecords(
  app: OpenedApp,
  name: string,
  options: ExportOptions,
  signal: AbortSignal,
): Promise<void> {
  const resource = app.bulk.resource(name);
  const columns = columnsOf(resource, options.fields);
  const viewer = await readViewer(app, options.user);
  const formatRecords = createFormatter(resource, columns, options);
  const output = openOutput(options.out);
  const progress = createProgress();
  const write = async (text: string) => {
    if (!output.write(text)) await once(output, 'drain');
  };
  let rows = 0;
  if (options.format === 'csv') await write(stringify([columns]));
  for await (const records of resource.read(options.where, viewer)) {
    await write(formatRecords(records));
    rows += records.length;
    progress.update(rows);
    if (signal.aborted) break;
  }
  if (options.out !== undefined) {
    output.end();
    await finished(output);
  }
  progress.end();
  console.error(`${pluralize(rows, 'record')} exported${signal.aborted ? '. Stopped: the export is incomplete.' : ''}`);
}
