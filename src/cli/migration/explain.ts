import type { RefusedChange } from '../../runtime/migrations/plan/column-changes.ts';
import type { Loss } from '../../runtime/migrations/plan/losses.ts';
import { pluralize } from '../terminal/terminal.ts';
import { readMigrationArguments } from './arguments.ts';
import type { ValueCounts } from './count-values.ts';

/** The option that allows a loss. */
function dropOption({ table, column }: Loss): string {
  return column === undefined ? `--drop-table ${table}` : `--drop ${table}.${column}`;
}

function renameOption({ table, column }: Loss, candidate: string): string {
  return column === undefined ? `--rename-table ${table}=${candidate}` : `--rename ${table}.${column}=${candidate}`;
}

function describeRows(loss: Loss, counts: ValueCounts): string {
  const count = counts.countOf(loss);
  if (count === undefined) return '';
  const rows = pluralize(count, 'row');
  if (loss.column === undefined) return `: it has ${rows}`;
  return `: ${rows} ${count === 1 ? 'holds' : 'hold'} a value`;
}

/** Adds an option to the given command line and removes `--check`, so that it writes. */
function buildCommand(given: readonly string[], option: string): string {
  const kept = given.filter((word) => word !== '--check');
  const named = kept.length > 0 && (kept.length === given.length || readMigrationArguments(kept).name !== undefined);
  const words = kept.map((word) => (/^[\w./=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`));
  return ['npx belfry migration generate', ...(named ? words : ['<name>', ...words]), option].join(' ');
}

/**
 * Explains what a migration would lose, and prints the commands that confirm or avoid the loss.
 *
 * @param given the command line of this run
 */
export function explainLosses(losses: readonly Loss[], counts: ValueCounts, given: readonly string[]): string[] {
  const lines = ['This would lose data:'];
  for (const loss of losses) {
    lines.push(
      `  - ${loss.column === undefined ? `table ${loss.table}` : `${loss.table}.${loss.column}`}${describeRows(loss, counts)}`,
    );
    for (const candidate of loss.candidates)
      lines.push(`      to rename it to ${candidate}: ${buildCommand(given, renameOption(loss, candidate))}`);
    lines.push(`      to drop it: ${buildCommand(given, dropOption(loss))}`);
  }
  if (losses.length > 1)
    lines.push('Combine the options in one command. --allow-loss drops everything that is not renamed.');
  if (counts.problem !== undefined) lines.push(`(${counts.problem})`);
  return lines;
}

/** Explains what cannot be done, and the workarounds. */
export function explainRefusals(refusals: readonly RefusedChange[], given: readonly string[]): string[] {
  const lines = ['This cannot be done safely:'];
  for (const { table, column, earlierName: was, reason: why, example, asIs } of refusals) {
    lines.push(`  - ${table}.${column}: ${why}`);
    if (example !== undefined)
      lines.push(
        `      to convert the values: ${buildCommand(given, `--using "${table}.${column}=${example.replaceAll('"', '\\"')}"`)}`,
      );
    if (asIs !== undefined)
      lines.push(
        `      if the values fit as they are: ${buildCommand(given, `--using "${table}.${column}=${asIs.replaceAll('"', '\\"')}"`)}`,
      );
    lines.push('      to keep the values: leave the field as it is, declare a new one, and copy the values in code');
    lines.push(`      to drop the values: ${buildCommand(given, `--drop ${was}`)}`);
  }
  return lines;
}
