import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { BulkResource } from '../../declare/bulk.ts';
import { suggestKnownNames } from '../../platform/helpers/did-you-mean.ts';
import { createRowFormatter, exportColumnsOf } from '../../records/bulk/format-rows.ts';
import type { Format } from '../../records/bulk/read-rows.ts';
import type { OpenedApp } from '../project/project.ts';
import { pluralize } from '../terminal/terminal.ts';
import { createProgress } from './progress.ts';
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

function columnsOf(resource: BulkResource, fields: readonly string[] | undefined): string[] {
  const all = exportColumnsOf(resource);
  const unknown = fields?.find((name) => !all.includes(name));
  if (unknown !== undefined)
    throw new Error(`--fields: "${unknown}" cannot be exported${suggestKnownNames(unknown, 'fields', all)}`);
  return [...(fields ?? all)];
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
  const { header, format } = createRowFormatter(resource, columns, options);
  const pages = resource.read(options.where, viewer);
  // A filter that is refused fails here, before the file loses what it contained.
  let page = await pages.next();
  const output = openOutput(options.out);
  const progress = createProgress();
  const write = async (text: string) => {
    if (!output.write(text)) await once(output, 'drain');
  };
  let rows = 0;
  await write(header);
  for (; !page.done && !signal.aborted; page = await pages.next()) {
    await write(format(page.value));
    rows += page.value.length;
    progress.update(rows);
  }
  if (options.out !== undefined) {
    output.end();
    await finished(output);
  }
  progress.end();
  console.error(`${pluralize(rows, 'record')} exported${signal.aborted ? '. Stopped: the export is incomplete.' : ''}`);
}
