// `npm run audit -- verify`: verifies the chain of the audit trail and names the first row that was changed or removed.
// Needs DATABASE_URL from the shell or from .env, or a running `npm run dev`.

import { parseArgs } from 'node:util';
import type { AuditApi } from '../extensions/audit/index.ts';
import type { BrokenRow, Verification } from '../extensions/audit/trail/verify.ts';
import { formatCount } from './format.ts';
import { DATABASE_ONLY, loadApp, printErrorAndExit } from './project.ts';

const UNDEFINED_TABLE = '42P01';

const USAGE = 'npm run audit -- verify [--expect <row>:<hash>] [--json]';

/** The parsed command line. */
interface AuditArguments {
  /** A row that an earlier run printed. */
  expected: { id: number; hash: string } | undefined;
  json: boolean;
}

/**
 * Reads the command line of `npm run audit`.
 *
 * @throws Error with a message for the terminal
 */
export function readAuditArguments(given: readonly string[]): AuditArguments {
  const fail = (text: string): never => {
    throw new Error(`${text}\n${USAGE}`);
  };
  const [command, ...args] = given;
  if (command !== 'verify')
    fail(command === undefined ? 'No command given. Usage:' : `Unknown command ${command}. Usage:`);
  const options = { expect: { type: 'string' }, json: { type: 'boolean', default: false } } as const;
  const { values, tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional') fail(`Unknown argument ${token.value}.`);
    if (token.kind === 'option' && !Object.hasOwn(options, token.name)) fail(`Unknown argument ${token.rawName}.`);
  }
  const { expect, json } = values;
  if (expect === undefined) return { expected: undefined, json: json === true };
  const [, id, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(String(expect)) ?? [];
  if (hash === undefined) fail(`--expect must be a row as verify prints it (1234:9f86d0…), not ${expect}.`);
  return { expected: { id: Number(id), hash: hash! }, json: json === true };
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
  const lines = [`${formatCount(rows)} ${rows === 1 ? 'row is' : 'rows are'} unchanged.`];
  if (broken !== undefined) lines.push(`Row ${broken.id} ${BROKEN_TEXTS[broken.fault]}. Later rows were not checked.`);
  else lines.push(`Last row, for --expect: ${head.id}:${head.hash}`);
  if (expected !== undefined && broken === undefined) lines.push(EXPECTED_TEXTS[expected]);
  if (!guarded) lines.push('A trigger that protects the rows is missing or disabled. See docs/audit.md.');
  return lines;
}

const PROGRESS_EVERY_MS = 5000;

/**
 * Verifies the chain of the audit trail and prints the result.
 *
 * @returns whether the chain is unbroken and protected
 */
export async function verifyAndPrint(audit: AuditApi, { expected, json }: AuditArguments): Promise<boolean> {
  let printedAt = performance.now();
  const onProgress = (rows: number) => {
    if (json || performance.now() - printedAt < PROGRESS_EVERY_MS) return;
    printedAt = performance.now();
    console.log(`${formatCount(rows)} rows …`);
  };
  const verification = await audit.verify({ expected, onProgress });
  console.log(json ? JSON.stringify(verification) : verificationLines(verification).join('\n'));
  return isSound(verification);
}

if (import.meta.main) {
  try {
    const given = readAuditArguments(process.argv.slice(2));
    const app = await loadApp({ environment: DATABASE_ONLY, orDevelopment: true });
    if (app.audit === undefined) printErrorAndExit('This app has no audit trail. See docs/audit.md.');
    try {
      if (!(await verifyAndPrint(app.audit, given))) process.exitCode = 1;
    } finally {
      await app.close();
    }
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    printErrorAndExit(
      code === UNDEFINED_TABLE ? 'The database has no audit trail. Apply the migrations: npm run migrate' : message,
    );
  }
}
