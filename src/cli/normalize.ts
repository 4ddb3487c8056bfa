import type { Command } from 'commander';
import { runUntilStopRequest } from '../dev-servers/on-stop-request.ts';
import type { NormalizationConflict, NormalizedResource } from '../records/bulk/normalize-texts.ts';
import { type AppOpener, DATABASE_ONLY } from './project/project.ts';
import { pluralize, ReportedFailure } from './terminal/terminal.ts';

function describeResult({ resource, found, normalized }: NormalizedResource, dryRun: boolean): string {
  const records = pluralize(found, 'record has', 'records have');
  const suffix = dryRun || found === 0 ? '' : `: ${pluralize(normalized, 'record')} normalized`;
  return `${resource}: ${records} decomposed letters${suffix}`;
}

const describeConflict = ({ resource, id, fields }: NormalizationConflict) =>
  `${resource} ${id}: another record has the same ${fields.join(' and ') || 'text'}. Change or delete one of the two, then run this again`;

/** Adds `belfry normalize`, which stores the texts of existing records in NFC. */
export function addNormalizeCommand(program: Command, openApp: AppOpener): void {
  program
    .command('normalize')
    .description('Store the texts of existing records in NFC, so that composed and decomposed letters are one text')
    .option('--dry-run', 'Count the records without changing them')
    .action(async ({ dryRun = false }: { dryRun?: boolean }, command: Command) => {
      const app = await openApp({
        command: 'normalize',
        appFile: command.optsWithGlobals().app,
        environment: DATABASE_ONLY,
        orDevelopment: true,
      });
      await app.bulk.ready();
      let conflicts = 0;
      const isStopped = await runUntilStopRequest(async (signal) => {
        await app.bulk.normalizeTexts({
          dryRun,
          signal,
          onResource: (result) => console.log(describeResult(result, dryRun)),
          onConflict(conflict) {
            conflicts += 1;
            console.error(describeConflict(conflict));
          },
        });
        return signal.aborted;
      });
      if (isStopped) console.error('Stopped. Run it again to continue.');
      if (conflicts > 0 || isStopped) throw new ReportedFailure();
    });
}
