import type { RecoveredEndpoint } from '../../src/extensions/webhooks/recovery/recoveries.ts';
import type { WebhookQueue, WebhookStatus } from '../../src/extensions/webhooks/status.ts';

const shown = (count: number) => count.toLocaleString('en-US');

/** Formats a duration: `950 ms`, `12 s`, `3 min`, `2.5 h`. */
function span(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}

/** Removes control characters from user-provided text, since they could manipulate the terminal. */
const plain = (text: string) => text.replaceAll(/\p{Cc}/gu, ' ');

/** Aligns cells in columns. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows.reduce<number[]>((most, row) => row.map((cell, i) => Math.max(most[i] ?? 0, cell.length)), []);
  return rows.map((row) => `  ${row.map((cell, i) => cell.padEnd(widths[i]!)).join('   ')}`.trimEnd());
}

function oldestText(ms: number | null): string {
  return ms === null ? '' : `, the oldest for ${span(ms)}`;
}

/** Formats the state of the queue as one line. */
export function queueLine({ due, retrying, held, inFlight, oldestMs, events, oldestEventMs }: WebhookQueue): string {
  const parts = [
    `${shown(events)} events wait for the relay${oldestText(oldestEventMs)}`,
    `${shown(due)} deliveries wait to be sent${oldestText(oldestMs)}`,
    `${shown(inFlight)} are in flight`,
    `${shown(retrying)} wait for their next attempt`,
    ...(held > 0 ? [`${shown(held)} are held for disabled or paused endpoints`] : []),
  ];
  return parts.join('; ');
}

function endpointsLine({ active, failing, disabled }: WebhookStatus['endpoints']): string {
  const off = Object.values(disabled).reduce((sum, count) => sum + count, 0);
  const why = Object.entries(disabled).map(([reason, count]) => `${shown(count)} ${reason}`);
  return `${shown(active)} active, ${shown(failing)} failing, ${shown(off)} disabled${off > 0 ? ` (${why.join(', ')})` : ''}`;
}

/** Formats the output of `status`. */
export function statusLines({ endpoints, queue, failed, attempts, recentMs, worst }: WebhookStatus): string[] {
  const results = Object.entries(attempts).map(([result, count]) => [plain(result), shown(count)]);
  const rows = worst.map((one) => [
    one.id,
    plain(one.host),
    one.status,
    shown(one.due),
    one.oldestMs === null ? '-' : span(one.oldestMs),
    shown(one.retrying),
    shown(one.failed),
    plain(one.lastError ?? '-'),
  ]);
  return [
    `Endpoints: ${endpointsLine(endpoints)}.`,
    `Queue: ${queueLine(queue)}.`,
    `Log: ${shown(failed)} deliveries failed every attempt (to send them again: npm run webhooks -- retry).`,
    '',
    results.length === 0 ? `No attempts in the last ${span(recentMs)}.` : `Attempts in the last ${span(recentMs)}:`,
    ...table(results),
    ...(rows.length === 0
      ? []
      : [
          '',
          'Endpoints with the most work:',
          ...table([['id', 'host', 'status', 'due', 'oldest', 'retrying', 'failed', 'last error'], ...rows]),
        ]),
  ];
}

const WHY_NOT: Record<string, string> = {
  disabled: 'is disabled; its owner must enable it first',
  busy: 'is being recovered from a different start time; try again when that has finished',
};

/** Formats the output of `retry`. */
export function retryLines(recovered: readonly RecoveredEndpoint[]): string[] {
  if (recovered.length === 0) return ['No failed deliveries.'];
  return recovered.map(({ endpoint, state, total }) =>
    state === 'begun'
      ? `${endpoint}: ${shown(total)} ${total === 1 ? 'delivery is' : 'deliveries are'} being sent again`
      : `${endpoint} ${WHY_NOT[state]}`,
  );
}
