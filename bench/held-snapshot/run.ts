import { failWithUsage, parseCommandLine } from '../command-line.ts';
import type { Bench } from '../figure.ts';
import { runSession } from '../session.ts';
import { DELIVERIES_PER_SECOND, ENDPOINTS, type HeldSnapshot, measureHeldSnapshot } from './measure.ts';

const WINDOW_SECONDS = 20;
const MAX_MINUTES = 24 * 60;
const TEXT_WIDTH = 100;

function printStatements({ before, after, deliveries }: HeldSnapshot): void {
  const earlier = new Map(before.map((statement) => [statement.id, statement]));
  console.log(`${deliveries} deliveries under the snapshot. Blocks per call:\n`);
  console.log(`${['calls', 'before', 'after'].map((title) => title.padStart(9)).join('')}  statement`);
  for (const { id, text, calls, blocks } of after.toSorted((a, b) => b.blocks - a.blocks)) {
    const other = earlier.get(id);
    const cells = [
      String(calls),
      other === undefined ? '-' : (other.blocks / other.calls).toFixed(1),
      (blocks / calls).toFixed(1),
    ];
    console.log(
      `${cells.map((cell) => cell.padStart(9)).join('')}  ${text.replace(/\s+/g, ' ').trim().slice(0, TEXT_WIDTH)}`,
    );
  }
}

/** Prints what each statement of relay, webhook-worker and push-worker reads while another session holds a snapshot for minutes. */
export async function runHeldSnapshot(args: string[]): Promise<void> {
  const { values } = parseCommandLine(args, { minutes: { type: 'string', default: '10' } });
  const minutes = Number(values.minutes);
  if (!(minutes >= 1 && minutes <= MAX_MINUTES)) failWithUsage(`--minutes must be from 1 to ${MAX_MINUTES}.`);
  await runSession({ maxMs: (minutes + 10) * 60_000, profiles: undefined }, async (session) => {
    const { services, children, logProgress } = session;
    const bench: Bench = {
      ...{ servers: services, children, logProgress, isRequested: () => true },
      ...{ reps: 1, seconds: 1, warmUpSeconds: 0 },
    };
    logProgress(`${DELIVERIES_PER_SECOND} deliveries per second to ${ENDPOINTS} endpoints for ${minutes} minutes …`);
    printStatements(await measureHeldSnapshot(bench, { heldSeconds: minutes * 60, windowSeconds: WINDOW_SECONDS }));
  });
}
