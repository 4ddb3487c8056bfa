import type { Database } from '../data/postgres/database.ts';
import { retryWhileUnavailable } from '../data/postgres/retry.ts';
import type { ApiError } from '../helpers/errors.ts';
import type { Logger } from '../observability/log.ts';
import type { LogSettings } from '../observability/log-work.ts';
import { createWorkLogger } from '../observability/log-work.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Tracing } from '../observability/tracing.ts';
import { type AttemptResult, createLeasedJob } from '../work/leased-work/job.ts';
import { LeaseLostError } from '../work/leased-work/lease.ts';
import { getScheduledWait } from '../work/leased-work/retry-schedule.ts';
import type { Queues, RunningWorker } from '../work/queues/queues.ts';
import { runJobInSpan } from '../work/queues/tracing.ts';
import { type CompleteMail, type MailMessage, validateMail } from './message.ts';
import { MAIL_QUEUE } from './sender.ts';
import { createSmtp, describeMailError, isPermanentlyRefused } from './smtp.ts';
import type { ClaimedMail, MailStore } from './store.ts';

/** The maximum number of e-mails in progress in a process: mail servers expect few connections. */
const CONCURRENCY = 5;
/** Seconds between attempts: nine hours in total. */
const RETRY_SCHEDULE_SECONDS = [10, 60, 300, 900, 3600, 3 * 3600, 5 * 3600];
const MAX_ATTEMPTS = RETRY_SCHEDULE_SECONDS.length + 1;
const ERROR_MAX = 500;
const ADDRESS = /[^\s<>"(),:;]+@[^\s<>"'(),:;]+/g;

/** The input of a composer. */
interface ComposerInput {
  data: Record<string, unknown>;
  /** When the e-mail was requested, ISO 8601. */
  requestedAt: string;
  /** The number of the attempt, from 1: an e-mail is composed anew for each attempt. */
  attempt: number;
}

/** Composes an e-mail when it is sent; undefined: nothing to send. If it throws, the e-mail is retried later. */
export type MailComposer = (composing: ComposerInput) => Promise<MailMessage | undefined>;

/** What the worker stands on. */
export interface MailWorkerParts {
  env: { nodeEnv: string; smtp: { url: string; from: string } | undefined };
  /** `graceMs`: ms that a stopping worker waits for e-mails in progress. */
  settings: { log: LogSettings; graceMs: number };
  log: Logger;
  metrics: Metrics;
  tracing: Tracing;
  queues: Queues;
  database: Database;
}

/** Validates an e-mail from a composer. Throws an Error with the validation errors, to be logged for the composer's author. */
function validateComposedMail(mail: MailMessage, kind: string): CompleteMail {
  try {
    return validateMail(mail);
  } catch (error) {
    const { details } = error as ApiError;
    throw new Error(`the composer of ${kind} returned an invalid e-mail: ${JSON.stringify(details)}`);
  }
}

const truncateError = (error: unknown) => describeMailError(error, ERROR_MAX);

/**
 * Starts the worker that sends e-mails to the mail server. Outside production without a mail server, they are captured instead.
 *
 * @param composers returns the composers of all features, by kind
 */
export function startMailWorker(
  { env, log, metrics, queues, settings, database, tracing }: MailWorkerParts,
  store: MailStore,
  composers: () => Readonly<Record<string, MailComposer>>,
): RunningWorker {
  const production = env.nodeEnv === 'production';
  const smtp = env.smtp && createSmtp(env.smtp.url, env.smtp.from, production);
  const stopping = new AbortController();
  if (smtp === undefined && production)
    log.warn('SMTP_URL is not set: e-mails, including password reset links, are queued and fail after nine hours');

  async function composeMail({ composed, attempt, createdAt, read }: ClaimedMail): Promise<CompleteMail | undefined> {
    if (composed === undefined) return read();
    const { kind, data } = composed;
    const composer = composers()[kind];
    if (composer === undefined) throw new Error(`this process has no composer for e-mails of kind ${kind}`);
    const mail = await composer({ data, attempt, requestedAt: createdAt });
    return mail && validateComposedMail(mail, kind);
  }

  /** Stores that an e-mail was sent, with retries: it must not be sent again only because the result could not be stored. */
  async function storeSentOutcome(claimed: ClaimedMail, to: string): Promise<void> {
    try {
      await retryWhileUnavailable(database, () => store.storeOutcome(claimed, { status: 'sent', to }));
    } catch (error) {
      if (error instanceof LeaseLostError) throw error;
      log.error(
        { mail: claimed.id, err: error },
        'An e-mail was sent, but its result could not be stored: it will be sent again',
      );
    }
  }

  async function sendClaimedMail(claimed: ClaimedMail): Promise<AttemptResult> {
    if (claimed.attempt > MAX_ATTEMPTS) throw new Error('its workers stopped before the send was finished');
    const mail = await composeMail(claimed);
    if (mail === undefined) {
      await store.removeClaimedMail(claimed);
      return { outcome: 'nothing to send' };
    }
    if (smtp === undefined) {
      if (production) throw new Error('SMTP_URL is not set');
      await store.storeOutcome(claimed, { status: 'captured', to: mail.to, content: mail });
      // In development, log the recipient and subject to show that a user would get an e-mail now. For sent e-mails both stay out of the
      // log.
      return { outcome: 'captured', to: mail.to, subject: mail.subject };
    }
    await smtp.send(mail, claimed.id, stopping.signal);
    await storeSentOutcome(claimed, mail.to);
    return { outcome: 'sent' };
  }

  async function storeFailedAttempt(claimed: ClaimedMail, error: unknown): Promise<AttemptResult> {
    const waitSeconds = isPermanentlyRefused(error)
      ? undefined
      : getScheduledWait(RETRY_SCHEDULE_SECONDS, claimed.attempt);
    if (waitSeconds === undefined) {
      await store.storeOutcome(claimed, { status: 'failed', error: truncateError(error) });
      return { outcome: 'failed' };
    }
    await store.scheduleRetry(claimed, truncateError(error), waitSeconds);
    return { outcome: 'retry' };
  }

  const job = createLeasedJob(
    {
      unit: 'mail',
      database,
      claim: store.claimMail,
      run: sendClaimedMail,
      fail: storeFailedAttempt,
      describe: ({ id, attempt, composed }) => ({ mail: id, kind: composed?.kind, attempt }),
      // The text and other properties of a mail server's error may contain the recipient.
      describeError: (error) => ({ error: truncateError(error).replaceAll(ADDRESS, '[address]') }),
    },
    createWorkLogger({ log, settings, metrics }),
  );
  const worker = queues.work(
    MAIL_QUEUE,
    ({ data }) => runJobInSpan(tracing, MAIL_QUEUE, data, () => job(data.id)),
    CONCURRENCY,
  );
  return {
    async stop() {
      const giveUp = setTimeout(() => stopping.abort(), settings.graceMs);
      await worker.stop();
      clearTimeout(giveUp);
    },
  };
}
