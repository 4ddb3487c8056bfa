// `npm run migration:generate -- <name>`: writes the SQL that brings the last migration up to the declarations.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { app } from '../src/app/index.ts';
import { type Snapshot, statementsBetween, takeSnapshot } from '../src/runtime/migrations/diff.ts';
import { readMigrationArguments } from './migration-arguments.ts';
import { MIGRATION_ENVIRONMENT } from './migration-environment.ts';

interface Journal {
  version: string;
  dialect: 'postgresql';
  entries: { idx: number; version: string; when: number; tag: string; breakpoints: boolean }[];
}

const folder = join(import.meta.dirname, '..', 'migrations');
const meta = join(folder, 'meta');
const journalFile = join(meta, '_journal.json');

function read<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Does what only the person at the terminal can have got wrong: a line, not a stack trace. */
function orFail<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}

const { name, allowLoss } = orFail(() => readMigrationArguments(process.argv.slice(2)));

const number = (index: number) => String(index).padStart(4, '0');
const write = (file: string, value: unknown) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);

// The environment plays no part in the tables, and nothing is connected.
Object.assign(process.env, MIGRATION_ENVIRONMENT, { DATABASE_URL: 'postgres://none/none' });
const made = orFail(app);

const journal: Journal = read(journalFile) ?? { version: '7', dialect: 'postgresql', entries: [] };
const last = journal.entries.at(-1);
const previous = last === undefined ? undefined : read<Snapshot>(join(meta, `${number(last.idx)}_snapshot.json`));
const next = await takeSnapshot(made.tables);
const { statements, losses } = await statementsBetween(previous, next);
await made.close();

if (statements.length === 0) {
  console.log('The migrations are up to date with the declarations.');
} else if (losses.length > 0 && !allowLoss) {
  console.error(`This would lose data:\n${losses.map((loss) => `  ${loss}`).join('\n')}`);
  console.error('If that is meant: npm run migration:generate -- <name> --allow-loss');
  process.exitCode = 1;
} else {
  const index = (last?.idx ?? -1) + 1;
  const tag = `${number(index)}_${name ?? (index === 0 ? 'init' : 'change')}`;
  const first = index === 0 ? ['CREATE EXTENSION IF NOT EXISTS pg_trgm;'] : [];
  mkdirSync(meta, { recursive: true });
  writeFileSync(join(folder, `${tag}.sql`), `${[...first, ...statements].join('\n--> statement-breakpoint\n')}\n`);
  write(join(meta, `${number(index)}_snapshot.json`), next);
  journal.entries.push({ idx: index, version: '7', when: Date.now(), tag, breakpoints: true });
  write(journalFile, journal);
  console.log(`migrations/${tag}.sql: ${statements.length} statements. Read it, then apply it with: npm run migrate`);
}
