import type { Host } from '../../../declare/host.ts';
import { newId } from '../../../platform/ids.ts';
import type { Recovering } from './recover.ts';
import type { RecoveryRow } from './recoveries.ts';
import { BEGIN_RECOVERY, FAILED_ENDPOINTS } from './recoveries-sql.ts';

/** What came of asking to recover one endpoint. */
export interface RecoveredEndpoint {
  endpoint: string;
  /** `begun`: the relay carries it out; `disabled`: nothing is sent; `busy`: a recovery since another time is running. */
  state: 'begun' | 'disabled' | 'busy';
  /** Deliveries that failed and are sent again. */
  total: number;
}

/**
 * Begins to send again what failed, for every endpoint that has such or for one of them: the same as its owner could ask for by
 * `POST /api/webhooks/:id/recover`.
 *
 * @param since ISO 8601; left out: since ever
 */
export type RecoverFailed = (which: {
  since?: string | undefined;
  endpoint?: string | undefined;
}) => Promise<RecoveredEndpoint[]>;

const EVER = '1970-01-01T00:00:00.000Z';

/** Makes it. */
export function createRecoverFailed({ database }: Pick<Host, 'database'>, { page }: Recovering): RecoverFailed {
  return async ({ since = EVER, endpoint }) => {
    const found = await database.write<[string]>({ text: FAILED_ENDPOINTS, values: [since, endpoint ?? null] });
    const recovered: RecoveredEndpoint[] = [];
    for (const [id] of found) {
      const [row] = await database.write<RecoveryRow>({ text: BEGIN_RECOVERY, values: [newId(), id, since] });
      if (row === undefined) recovered.push({ endpoint: id, state: 'disabled', total: 0 });
      else if (row[3] !== since) recovered.push({ endpoint: id, state: 'busy', total: 0 });
      else {
        recovered.push({ endpoint: id, state: 'begun', total: row[4] });
        // The first page at once; the relay goes on.
        await page(row[0]);
      }
    }
    return recovered;
  };
}
