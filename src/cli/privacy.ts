// `npm run privacy -- report`: reports where personal data is stored, who can see it and how long it is kept, based on the
// declarations. Needs no database.

import { parseArgs } from 'node:util';
import type { PrivacyReport, ReportedData, ReportedField } from '../extensions/privacy/index.ts';
import { DATABASE_ONLY, loadApp, printErrorAndExit } from './project.ts';

const USAGE = 'npm run privacy -- report [--json] [--strict]';

/** The parsed command line. */
interface PrivacyArguments {
  json: boolean;
  /** Makes the command fail if something is not marked. */
  strict: boolean;
}

/**
 * Reads the command line of `npm run privacy`.
 *
 * @throws Error with a message for the terminal
 */
export function readPrivacyArguments(given: readonly string[]): PrivacyArguments {
  const fail = (text: string): never => {
    throw new Error(`${text}\n${USAGE}`);
  };
  const [command, ...args] = given;
  if (command !== 'report')
    fail(command === undefined ? 'No command given. Usage:' : `Unknown command ${command}. Usage:`);
  const options = { json: { type: 'boolean', default: false }, strict: { type: 'boolean', default: false } } as const;
  const { values, tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional') fail(`Unknown argument ${token.value}.`);
    if (token.kind === 'option' && !Object.hasOwn(options, token.name)) fail(`Unknown argument ${token.rawName}.`);
  }
  return { json: values.json === true, strict: values.strict === true };
}

const REASONS = {
  'pii()': 'marked pii()',
  personalFields: 'in personalFields',
  account: 'part of an account',
  name: 'name looks personal: NOT MARKED',
} as const;

function fieldLines({ resource, field, reason, storedIn, encrypted, seenBy, kept }: ReportedField): string[] {
  return [
    `${resource}.${field} (${REASONS[reason]})`,
    `  stored   ${storedIn.join(', ')}${encrypted ? ', encrypted' : ''}`,
    `  seen by  ${seenBy}`,
    `  kept     ${kept}`,
  ];
}

const describePlace = ({ table, columns }: { table: string; columns: readonly string[] }) =>
  columns.length === 0 ? table : `${table} (${columns.join(', ')})`;

function dataLines({ name, description, storedIn, kept }: ReportedData): string[] {
  return [
    `${name}: ${description}`,
    ...(storedIn.length === 0 ? [] : [`  stored   ${storedIn.map(describePlace).join(', ')}`]),
    ...(kept === null ? [] : [`  kept     ${kept}`]),
  ];
}

function reportLines({ fields, unmarked, data, unclaimed }: PrivacyReport): string[] {
  return [
    `Personal fields of resources: ${fields.length}`,
    '',
    ...fields.flatMap((field) => [...fieldLines(field), '']),
    'Data about users outside resources',
    '',
    ...data.flatMap((one) => [...dataLines(one), '']),
    unmarked.length === 0
      ? 'No other field looks personal.'
      : 'Looks personal, but is not marked. Add pii(), list the field in personalFields, or rename it:',
    ...unmarked.map(({ resource, field }) => `  ${resource}.${field}`),
    ...(unclaimed.length === 0
      ? []
      : [
          '',
          'Tables that seem to hold data about users, but are in no export and no erasure (see userData in docs/extensions.md):',
        ]),
    ...unclaimed.map((one) => `  ${describePlace(one)}`),
  ];
}

/**
 * Prints a report.
 *
 * @returns false in strict mode if a field is not marked or a table is not claimed
 */
export function printReport(report: PrivacyReport, { json, strict }: PrivacyArguments): boolean {
  console.log(json ? JSON.stringify(report) : reportLines(report).join('\n'));
  return !strict || report.unmarked.length + report.unclaimed.length === 0;
}

if (import.meta.main) {
  try {
    const given = readPrivacyArguments(process.argv.slice(2));
    const app = await loadApp({ environment: { ...DATABASE_ONLY, DATABASE_URL: 'postgres://none' } });
    if (app.privacy === undefined)
      printErrorAndExit('This app does not use the extension privacy(). See docs/privacy.md.');
    if (!printReport(app.privacy.report(app.tables), given)) process.exitCode = 1;
    await app.close();
  } catch (error) {
    printErrorAndExit((error as Error).message);
  }
}
