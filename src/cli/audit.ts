import { type Command, InvalidArgumentError } from 'commander';
import type { AuditApi } from '../extensions/audit/index.ts';
import type { BrokenRow } from '../extensions/audit/trail/responses.ts';
import type { Verification } from '../extensions/audit/trail/verify.ts';
import { type AppOpener, DATABASE_ONLY } from './project/project.ts';
import { formatCount, pluralize, ReportedFailure } from './terminal/terminal.ts';

const UNDEFINED_TABLE = '42P01';

interface VerifyOptions {
  /** A row that an earlier run printed. */
  expect?: { id: number; hash: string };
  json?: boolean;
}

function parseRow(text: string): { id: number; hash: string } {
  const [, id, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (hash === undefined) throw new InvalidArgumentError('It must be a row as verify prints it: 1234:9f86d0…');
  return { id: Number(id), hash };
}

const BROKEN_TEXTS: Record<BrokenRow['fault'], string> = {
  missing: 'is missing',
  changed: 'was changed',
  unlinked: 'does not follow from the row before it',
};

const EXPECTED_TEXTS = {
  there: 'The expected row is there and unchanged.',
  removed: 'The expected row was removed because of its age and cannot be verified. Expect a newer one.',
  gone: 'The expected row is missing: the newest rows were removed, or the chain was rewritten.',
};

/** Returns whether a chain is unbroken and protected. */
function isSound({ broken, expected, guarded }: Verification): boolean {
  return broken === undefined && expected !== 'gone' && guarded;
}

/** Formats the output of `verify`. */
function verificationLines({ rows, head, broken, expected, guarded }: Verification): string[] {
  const lines = [`${pluralize(rows, 'row is', 'rows are')} unchanged.`];
  if (broken !== undefined) lines.push(`Row ${broken.id} ${BROKEN_TEXTS[broken.fault]}. Later rows were not checked.`);
  else lines.push(`Last row, for --expect: ${head.id}:${head.hash}`);
  if (expected !== undefined && broken === undefined) lines.push(EXPECTED_TEXTS[expected]);
  if (!guarded) lines.push('A trigger that protects the rows is missing or disabled. See docs/build/audit.md.');
  return lines;
}

const PROGRESS_EVERY_MS = 5000;

/**
 * Verifies the chain of the audit trail and prints the result.
 *
 * @throws ReportedFailure if the chain is broken or not protected
 */
async function verifyAndPrint(audit: AuditApi, { expect: expected, json = false }: VerifyOptions): Promise<void> {
  let printedAt = performance.now();
  const onProgress = (rows: number) => {
    if (json || performance.now() - printedAt < PROGRESS_EVERY_MS) return;
    printedAt = performance.now();
    console.log(`${formatCount(rows)} rows …`);
  };
  const verification = await audit.verify({ expected, onProgress });
  console.log(json ? JSON.stringify(verification) : verificationLines(verification).join('\n'));
  if (!isSound(verification)) throw new ReportedFailure();
}

/** Adds `belfry audit`, which verifies the audit trail. */
export function addAuditCommand(program: Command, openApp: AppOpener): void {
  program
    .command('audit')
    .description('Verify the audit trail')
    .command('verify')
    .description('Verify that no row of the audit trail was changed or removed, and name the first one that was')
    .option(
      '--expect <row:hash>',
      'The last row that an earlier run printed. Fail if it is not there any more',
      parseRow,
    )
    .option('--json', 'Print JSON')
    .action(async (options: VerifyOptions, command: Command) => {
      const app = await openApp({
        command: 'audit',
        appFile: command.optsWithGlobals().app,
        environment: DATABASE_ONLY,
        orDevelopment: true,
      });
      if (app.audit === undefined) throw new Error('This app has no audit trail. See docs/build/audit.md.');
      try {
        await verifyAndPrint(app.audit, options);
      } catch (error) {
        if ((error as { code?: string }).code !== UNDEFINED_TABLE) throw error;
        throw new Error('The database has no audit trail. Apply the migrations: npx belfry migrate');
      }
    });
}
