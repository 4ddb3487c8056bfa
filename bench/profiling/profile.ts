import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { failWithUsage, parseCommandLine } from '../command-line.ts';
import { selectSetups } from '../guard/operations.ts';
import { createSides } from '../guard/sides.ts';
import { WORKING_TREE } from '../guard/worktree.ts';
import { runSession, type Session } from '../session.ts';
import { type FunctionTime, sumTimes } from './cpu-profile.ts';

const MAX_RUN_MS = 10 * 60_000;
const WARM_UP_SECONDS = 5;
const SHOWN = 30;
const ROOT = fileURLToPath(WORKING_TREE);

interface Options {
  operation: string;
  seconds: number;
  folder: string;
}

function formatTimes(title: string, times: readonly FunctionTime[], operations: number): string {
  const rows = times
    .slice(0, SHOWN)
    .map(({ name, micros }) => `${(micros / operations).toFixed(1).padStart(8)}  ${name}`);
  return [title, ...rows].join('\n');
}

function printProfile(title: string, file: string, operations: number): void {
  const { self, top } = sumTimes(JSON.parse(readFileSync(file, 'utf8')), ROOT);
  const total = self.reduce((sum, { micros }) => sum + micros, 0) / operations;
  console.log(`\n# ${title}: ${total.toFixed(0)} µs per operation, ${operations} operations\n${file}\n`);
  console.log(formatTimes('µs by the function that ran', self, operations));
  console.log(`\n${formatTimes('µs by the outermost function of the project', top, operations)}`);
}

/** Profiles an operation on Belfry and, if it has the operation, on the handwritten API. */
async function profile(session: Session, { operation: name, seconds, folder }: Options): Promise<void> {
  const [setup] = selectSetups([name]) as [ReturnType<typeof selectSetups>[number]];
  const operation = setup.operations[0]!;
  for (const side of await createSides(session)) {
    if (side.name === 'handwritten' && !setup.isHandwritten) continue;
    const sideName = side.name === 'this' ? 'belfry' : side.name;
    session.logProgress(`profile: ${name} of ${sideName} …`);
    const processes = await setup.start(side);
    const children = Object.entries(processes.children);
    await operation.reset?.(side);
    await operation.run(processes, { seconds: WARM_UP_SECONDS });
    // One after the other, since sampling the heap costs CPU time.
    for (const kind of ['cpu', 'heap'] as const) {
      await operation.reset?.(side);
      for (const [, child] of children) await child.call('startProfile', kind);
      const { operations } = await operation.run(processes, { seconds });
      for (const [process, child] of children) {
        const file = join(folder, `${name}-${sideName}-${process}.${kind}profile`);
        await child.call('stopProfile', { kind, file });
        if (kind === 'cpu') printProfile(`${name}, ${sideName} ${process}`, file, operations);
      }
    }
    await session.children.stopAll();
  }
}

/** Prints which functions take the time of an operation, and writes profiles for the developer tools of Chromium. */
export async function runProfile(args: string[]): Promise<void> {
  const { values, positionals } = parseCommandLine(args, {
    seconds: { type: 'string', default: '5' },
    out: { type: 'string', default: fileURLToPath(new URL('../profiles', import.meta.url)) },
  });
  const [operation] = positionals;
  const seconds = Number(values.seconds);
  if (operation === undefined || positionals.length > 1) failWithUsage('profile needs the name of one operation.');
  selectSetups([operation]);
  if (!(seconds > 0)) failWithUsage('--seconds must be a number greater than 0.');
  const folder = resolve(values.out);
  mkdirSync(folder, { recursive: true });
  await runSession({ maxMs: MAX_RUN_MS }, (session) => profile(session, { operation, seconds, folder }));
}
