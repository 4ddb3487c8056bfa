import type { WebhookStatus } from '../../extensions/webhooks/monitoring/status.ts';
import { formatCount, stripControlCharacters } from '../terminal/terminal.ts';

/** Formats the numbers of endpoints by state: `2 active, 0 retrying, 1 failing, 1 disabled (1 manual)`. */
export function describeEndpoints({ active, retrying, failing, disabled }: WebhookStatus['endpoints']): string {
  const off = Object.values(disabled).reduce((sum, count) => sum + count, 0);
  const why = Object.entries(disabled).map(
    ([reason, count]) => `${formatCount(count)} ${stripControlCharacters(reason)}`,
  );
  return `${formatCount(active)} active, ${formatCount(retrying)} retrying, ${formatCount(failing)} failing, ${formatCount(off)} disabled${off > 0 ? ` (${why.join(', ')})` : ''}`;
}
