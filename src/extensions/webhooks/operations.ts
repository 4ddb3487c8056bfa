import type { Host } from '../../declare/host.ts';
import type { Recovering } from './recovery/recover.ts';
import { createRecoverFailed, type RecoverFailed } from './recovery/recover-failed.ts';
import type { StatusReader } from './status.ts';

/** What an operator asks of webhooks, on `app.webhooks`: `npm run webhooks` is made of it. */
export interface WebhookOperations extends StatusReader {
  recoverFailed: RecoverFailed;
}

/** Brings it together. */
export function createOperations(
  host: Pick<Host, 'database'>,
  status: StatusReader,
  recovering: Recovering,
): WebhookOperations {
  return { ...status, recoverFailed: createRecoverFailed(host, recovering) };
}
