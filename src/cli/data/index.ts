import { type Command, InvalidArgumentError, Option } from 'commander';
import { runUntilStopRequest } from '../../dev-servers/on-stop-request.ts';
import type { Format } from '../../records/bulk/read-rows.ts';
import type { AppOpener, OpenedApp } from '../project/project.ts';
import { ReportedFailure } from '../terminal/terminal.ts';
import type { ExportOptions } from './export.ts';
import type { ImportOptions } from './import.ts';

const FORMATS: readonly [suffix: RegExp, format: Format][] = [
  [/\.(csv|tsv)$/i, 'csv'],
  [/\.(ndjson|jsonl)$/i, 'ndjson'],
];

/** The format of a file, by its name. @throws Error if the name does not tell */
function chooseFormat(file: string, given: Format | undefined): Format {
  const found = given ?? FORMATS.find(([suffix]) => suffix.test(file))?.[1];
  if (found === undefined) throw new Error(`${file}: name its format with --format csv or --format ndjson.`);
  return found;
}

function parseMapping(text: string, earlier: ReadonlyMap<string, string> = new Map()): Map<string, string> {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be column=field, or column= to leave the column out.');
  return new Map([...earlier, [text.slice(0, at), text.slice(at + 1)]]);
}

function parseFilter(text: string, earlier: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be field=value or field[operator]=value.');
  return { ...earlier, [text.slice(0, at)]: text.slice(at + 1) };
}

function parseSkip(text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

const NAMED_DELIMITERS: Record<string, string> = { comma: ',', semicolon: ';', tab: '\t', '\\t': '\t', pipe: '|' };

function parseDelimiter(text: string): string {
  const delimiter = NAMED_DELIMITERS[text.toLowerCase()] ?? text;
  if (/^[^\w"\r\n]$/.test(delimiter)) return delimiter;
  throw new InvalidArgumentError('It must be comma, semicolon, tab, pipe, or one other character.');
}

const createFormatOption = () => new Option('--format <format>', 'The format of the file').choices(['csv', 'ndjson']);

/** Adds `belfry import` and `belfry export`, which read and write the records of a resource as a file. */
export function addDataCommands(program: Command, openApp: AppOpener): void {
  /** Opens the app for a command, runs it until it ends or is asked to stop, and closes the app. */
  async function run<T>(command: Command, work: (app: OpenedApp, signal: AbortSignal) => Promise<T>): Promise<T> {
    const app = await openApp({
      command: command.name(),
      appFile: command.optsWithGlobals().app,
      environment: { NODE_ENV: 'test', LOG_LEVEL: 'error' },
      orDevelopment: true,
      needsKeys: true,
    });
    await app.bulk.ready();
    return runUntilStopRequest((signal) => work(app, signal));
  }

  program
    .command('import')
    .description('Import records from a CSV or NDJSON file. Every row is validated and has its events')
    .argument('<resource>', 'The name of the resource')
    .argument('<file>', 'The path of the file, or - for standard input')
    .addOption(createFormatOption())
    .option(
      '--delimiter <name>',
      'The character between cells: comma, semicolon, tab, … (default: detected)',
      parseDelimiter,
    )
    .option('--dry-run', 'Validate the rows without storing them')
    .option('--upsert-by <field>', 'Update records that have the same value of this unique field')
    .option('--map <column=field>', 'Import a column as this field. Can be repeated', parseMapping)
    .option('--rejects <file>', 'The file for rejected rows (default: the name of the file and .rejected)')
    .option('--user <id>', 'Import as this user, whose policies apply (default: the system)')
    .option('--keep-ids', 'Create records with the ids in the file')
    .option('--keep-times', 'Create records with createdAt and updatedAt of the file')
    .option('--skip <rows>', 'Leave out this many rows at the beginning', parseSkip, 0)
    .action(async (resource: string, file: string, options: Partial<ImportOptions>, command: Command) => {
      const format = chooseFormat(file, options.format);
      const given = { map: new Map<string, string>(), skip: 0, ...options, format };
      const { importRows } = await import('./import.ts');
      const isComplete = await run(command, (app, signal) => importRows(app, resource, file, given, signal));
      if (!isComplete) throw new ReportedFailure();
    });

  program
    .command('export')
    .description('Export records as CSV or NDJSON. Passwords and write-only fields are never exported')
    .argument('<resource>', 'The name of the resource')
    .addOption(createFormatOption())
    .option('--fields <names>', 'The fields to export, separated by commas (default: all)', (text) => text.split(','))
    .option('--where <field=value>', 'Export only matching records. Can be repeated', parseFilter)
    .option('--out <file>', 'The file to write (default: standard output)')
    .option('--user <id>', 'Export the records and fields that this user may see (default: all)')
    .option('--for-spreadsheet', 'Mark CSV as UTF-8 for Excel, and keep texts from being calculated as formulas')
    .action(async (resource: string, options: Partial<ExportOptions>, command: Command) => {
      const format = options.out === undefined ? (options.format ?? 'csv') : chooseFormat(options.out, options.format);
      const { exportRecords } = await import('./export.ts');
      await run(command, (app, signal) => exportRecords(app, resource, { where: {}, ...options, format }, signal));
    });
}
