import type { Platform } from '../platform/platform.ts';
import { retryWhileUnavailable } from '../platform/postgres/retry-while-unavailable.ts';
import { createAlarm } from './alarm.ts';
import type { Finished } from './finished.ts';
import { addChunks } from './jobs.ts';
import { createRemoveGone } from './remove-gone.ts';
import { emitOutcome } from './status.ts';
import { type Answer, type AnsweredChunk, storeAnswers } from './store-answers.ts';
import { SIMULATED } from './transport.ts';

/** ms between attempts to store what was sent while Postgres is away: unstored it is sent again. After the last its claim runs out. */
const STORE_RETRY_MS = [200, 1000, 3000, 10_000, 20_000];

/** What it works with. */
export type AnswerHandlerParts = Pick<Platform, 'env' | 'log' | 'database' | 'queues' | 'events'>;

/**
 * Makes what follows the answers of a transport: they are stored, devices that are gone removed, further tries scheduled, and
 * listeners told.
 *
 * @param installed names of the transports of this app
 */
export function createAnswerHandler(parts: AnswerHandlerParts, installed: ReadonlySet<string>, finished: Finished) {
  const { env, log, database, queues, events } = parts;
  const alarm = createAlarm(parts);
  const removeGone = createRemoveGone(parts, alarm);

  async function remove(transport: string, kept: readonly AnsweredChunk[]): Promise<number> {
    const told = kept.flatMap(({ chunk, answers }) =>
      answers.filter((answer) => answer.unregistered).map((answer) => ({ ...answer, createdAt: chunk.createdAt })),
    );
    if (told.length === 0) return 0;
    return removeGone({
      transport,
      gone: told.map(({ deviceId, raw, createdAt, goneSince = createdAt }) => ({
        id: deviceId,
        tokenHash: raw?.hash ?? null,
        platform: raw?.platform ?? null,
        seenUntil: new Date(Math.min(goneSince, createdAt)).toISOString(),
      })),
      // Nothing can be wrong with how that is set up.
      reached: transport === SIMULATED || kept.some(({ answers }) => answers.some((answer) => answer.ok)),
      error: told.at(-1)!.error ?? '',
    });
  }

  /** Devices that cannot be removed now are found gone by the next send; what else follows the answers does not wait for that. */
  async function tryToRemove(transport: string, kept: readonly AnsweredChunk[]): Promise<number> {
    try {
      return await remove(transport, kept);
    } catch (error) {
      log.error({ err: error, transport }, 'devices that are gone were not removed');
      return 0;
    }
  }

  function alarmIfRefused(transport: string, answers: readonly Answer[]): void {
    const refused = answers.filter((answer) => answer.misconfigured);
    if (refused.length === 0) return;
    alarm({ transport, reason: 'refused', error: refused.at(-1)!.error ?? '', devices: refused.length });
  }

  function emitReceipts({ chunk, answers }: AnsweredChunk): void {
    for (const { tries, retryAt, deviceId, ok, error = null, unregistered = false } of answers) {
      if (tries === 0 || retryAt !== undefined) continue;
      events.emit('push.receipt', { id: chunk.pushId, device: deviceId, ok, error: ok ? null : error, unregistered });
    }
  }

  function scheduleRetries(kept: readonly AnsweredChunk[]): Promise<void> {
    const again = kept.flatMap(({ chunk: { pushId, chunk, transport, bulk, attempt, devices }, dueAt }) =>
      dueAt === undefined
        ? []
        : [
            {
              pushId,
              chunk,
              transport,
              bulk,
              size: devices.length,
              again: { attempt, delay: Math.max(0, dueAt - Date.now()) },
            },
          ],
    );
    return addChunks(queues, installed, again);
  }

  /** Handles chunks of one transport that were answered at about the same time. */
  return async (transport: string | null, chunks: readonly AnsweredChunk[]): Promise<void> => {
    const captured = transport === null && env.nodeEnv !== 'production';
    const { kept, outcomes } = await retryWhileUnavailable(
      () => storeAnswers(database, chunks, { captured, transport }),
      STORE_RETRY_MS,
    );
    const answers = kept.flatMap((one) => one.answers);
    const removed = transport === null ? 0 : await tryToRemove(transport, kept);
    if (transport !== null) alarmIfRefused(transport, answers);
    await scheduleRetries(kept);
    for (const one of kept) emitReceipts(one);
    for (const outcome of outcomes) {
      emitOutcome(events, outcome);
      finished.announce(outcome.id);
    }
    log.info(
      {
        transport,
        push: chunks.length === 1 ? chunks[0]!.chunk.pushId : undefined,
        chunks: chunks.length,
        lost: chunks.length - kept.length,
        devices: answers.length,
        ok: answers.filter((answer) => answer.ok).length,
        again: answers.filter((answer) => answer.retryAt !== undefined).length,
        removed,
        finished: outcomes.length,
        ms: Date.now() - Math.min(...chunks.map((one) => one.sentAt)),
      },
      'push answers',
    );
  };
}
