import type { ConsoleConcern } from '../../../extension/index.ts';
import { MAX_COUNTED_FAILURES, type StatusReader } from '../monitoring/status.ts';

const WEBHOOKS = '/console/webhooks';

/** A number with its noun: `1 webhook endpoint`, `more than 1,000 deliveries`. */
function countText(count: number, one: string, many: string): string {
  if (count === 1) return `1 ${one}`;
  const isCapped = count > MAX_COUNTED_FAILURES;
  return `${isCapped ? 'More than ' : ''}${Math.min(count, MAX_COUNTED_FAILURES).toLocaleString('en')} ${many}`;
}

/** Creates the function that reads which endpoints and deliveries fail: one statement. */
export function createConcernsReader(status: Pick<StatusReader, 'problems'>): () => Promise<ConsoleConcern[]> {
  return async () => {
    const { failing, retrying, disabled, neglected, failed } = await status.problems();
    const concerns: (ConsoleConcern & { count: number })[] = [
      {
        count: failing,
        level: 'error',
        message: countText(failing, 'webhook endpoint fails', 'webhook endpoints fail'),
        href: `${WEBHOOKS}/endpoints?state=failing`,
      },
      {
        count: disabled,
        level: 'error',
        message: countText(
          disabled,
          'webhook endpoint was disabled automatically',
          'webhook endpoints were disabled automatically',
        ),
        href: `${WEBHOOKS}/endpoints?state=disabled`,
      },
      {
        count: retrying,
        level: 'warning',
        message: countText(
          retrying,
          'webhook endpoint failed at its last attempt',
          'webhook endpoints failed at their last attempt',
        ),
        href: `${WEBHOOKS}/endpoints?state=retrying`,
      },
      {
        count: neglected,
        level: 'warning',
        message: countText(
          neglected,
          'polled webhook endpoint has messages that wait for more than a day',
          'polled webhook endpoints have messages that wait for more than a day',
        ),
        href: `${WEBHOOKS}/endpoints`,
      },
      {
        count: failed,
        level: 'warning',
        message: `${countText(failed, 'delivery', 'deliveries')} of the last 24 hours failed in all attempts`,
        href: `${WEBHOOKS}/deliveries?status=failed`,
      },
    ];
    return concerns.filter(({ count }) => count > 0).map(({ count: _, ...concern }) => concern);
  };
}
