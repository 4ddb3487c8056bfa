import type { Command } from 'commander';
import type { PrivacyReport, ReportedData, ReportedField } from '../extensions/privacy/index.ts';
import { type AppOpener, DATABASE_ONLY } from './project/project.ts';
import { ReportedFailure } from './terminal/terminal.ts';

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
          'Tables that seem to hold data about users, but are in no export and no erasure (see userData in docs/extend/extension-reference.md):',
        ]),
    ...unclaimed.map((one) => `  ${describePlace(one)}`),
  ];
}

/** Adds `belfry privacy`, which reports personal data. */
export function addPrivacyCommand(program: Command, openApp: AppOpener): void {
  program
    .command('privacy')
    .description('Report where personal data is stored')
    .command('report')
    .description(
      'Show where personal data is stored, who can see it and how long it is kept. Reads only the declarations, not the database.',
    )
    .option('--json', 'Print JSON')
    .option('--strict', 'Fail if data that looks personal is not marked')
    .action(async ({ json, strict }: { json?: boolean; strict?: boolean }, command: Command) => {
      const app = await openApp({
        command: 'privacy',
        appFile: command.optsWithGlobals().app,
        environment: { ...DATABASE_ONLY, DATABASE_URL: 'postgres://none' },
      });
      if (app.privacy === undefined)
        throw new Error('This app does not use the extension privacy(). See docs/users/privacy.md.');
      const report = app.privacy.report(app.tables);
      console.log(json ? JSON.stringify(report) : reportLines(report).join('\n'));
      if (strict && report.unmarked.length + report.unclaimed.length > 0) throw new ReportedFailure();
    });
}
