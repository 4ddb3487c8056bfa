import type { PrivacyReport, ReportedData, ReportedField } from '../../src/extensions/privacy/index.ts';
import type { PrivacyArguments } from './arguments.ts';

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

const placeOf = ({ table, columns }: { table: string; columns: readonly string[] }) =>
  columns.length === 0 ? table : `${table} (${columns.join(', ')})`;

function dataLines({ name, description, storedIn, kept }: ReportedData): string[] {
  return [
    `${name}: ${description}`,
    ...(storedIn.length === 0 ? [] : [`  stored   ${storedIn.map(placeOf).join(', ')}`]),
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
    ...unclaimed.map((one) => `  ${placeOf(one)}`),
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
