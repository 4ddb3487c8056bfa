import type { PrivacyReport, ReportedData, ReportedField } from '../../src/extensions/privacy/index.ts';
import type { PrivacyArguments } from './arguments.ts';

const REASONS = {
  'pii()': 'marked pii()',
  personalFields: 'in personalFields',
  account: 'of an account',
  name: 'looks like it: NOT MARKED',
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
    ...(kept === null ? [] : [`  stays    ${kept}`]),
  ];
}

function reportLines({ fields, unmarked, data, unclaimed }: PrivacyReport): string[] {
  return [
    `Personal fields of resources: ${fields.length}`,
    '',
    ...fields.flatMap((field) => [...fieldLines(field), '']),
    'Held about users outside of resources',
    '',
    ...data.flatMap((one) => [...dataLines(one), '']),
    unmarked.length === 0
      ? 'Nothing else looks personal.'
      : 'Looks personal, and is not marked. Add pii(), or name it in personalFields; or give it a name that says what it is:',
    ...unmarked.map(({ resource, field }) => `  ${resource}.${field}`),
    ...(unclaimed.length === 0
      ? []
      : [
          '',
          'Tables that seem to hold data of users, and are in no export and no erasure (see userData in docs/extensions.md):',
        ]),
    ...unclaimed.map((one) => `  ${placeOf(one)}`),
  ];
}

/**
 * Prints a report.
 *
 * @returns false when it is strict and something is not marked or not claimed
 */
export function printReport(report: PrivacyReport, { json, strict }: PrivacyArguments): boolean {
  console.log(json ? JSON.stringify(report) : reportLines(report).join('\n'));
  return !strict || report.unmarked.length + report.unclaimed.length === 0;
}
