import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiError } from '../errors.ts';
import type { Platform } from '../platform.ts';
import type { RunningWorker } from '../queues.ts';
import { type MailMessage, readMail, type WholeMail } from './message.ts';
import { MAIL_QUEUE } from './sender.ts';
import { createSmtp, isRefused } from './smtp.ts';
import type { ClaimedMail, MailStore } from './store.ts';

/** E-mails in work at once in a process: mail servers want few connections. */
const CONCURRENCY = 5;
/** Seconds between attempts: nine hours in all. */
const WAITS = [10, 60, 300, 900, 3600, 3 * 3600, 5 * 3600];
const ERROR_MAX = 500;
/** ms between attempts to store that an e-mail was sent; after the last its lease runs out, and it is sent again. */
const STORE_AGAIN_MS = [200, 1000, 3000, 10_000, 20_000];

/** What a composer is given for the e-mail that it makes. */
export interface Composing {
  data: Record<string, unknown>;
  /** ISO 8601: when it was asked for. */
  requestedAt: string;
  /** Counted from 1: an e-mail is made anew for each attempt. */
  attempt: number;
}

/** Makes an e-mail when it is sent; undefined: there is none to send. What it throws is tried again later. */
export type MailComposer = (composing: Composing) => Promise<MailMessage | undefined>;

type Parts = Pick<Platform, 'env' | 'log' | 'queues' | 'settings'>;
type Outcome = 'sent' | 'captured' | 'failed' | 'postponed' | 'nothing to send';

/** How an attempt went, and what of the e-mail the log may show. */
interface Delivered {
  outcome: Outcome;
  to?: string;
  subject?: string;
}

/** An e-mail that a composer made. What is wrong with it is for its author, in the log. */
function checked(made: MailMessage, kind: string): WholeMail {
  try {
    return readMail(made);
  } catch (error) {
    const { details } = error as ApiError;
    throw new Error(`the composer of ${kind} made no e-mail that can be sent: ${JSON.stringify(details)}`);
  }
}

/**
 * Sends e-mails: to the mail server, or, outside production and without one, nowhere: they are captured.
 *
 * @param composers by name
 */
export function startMailWorker(
  { env, log, queues, settings }: Parts,
  store: MailStore,
  composers: () => Readonly<Record<string, MailComposer>>,
): RunningWorker {
  const production = env.nodeEnv === 'production';
  const smtp = env.smtp && createSmtp(env.smtp.url, env.smtp.from, production);
  const stopping = new AbortController();
  if (smtp === undefined && production)
    log.warn('SMTP_URL is not set: e-mails (links to reset a password among them) wait, and are given up after hours');

  async function compose({ maker, attempt, createdAt, read }: ClaimedMail): Promise<WholeMail | undefined> {
    if (maker === undefined) return read();
    const composer = composers()[maker.kind];
    if (composer === undefined) throw new Error(`this process has no composer for e-mails of the kind ${maker.kind}`);
    const made = await composer({ data: maker.data, attempt, requestedAt: createdAt });
    return made && checked(made, maker.kind);
  }

  async function deliver(claimed: ClaimedMail): Promise<Delivered> {
    // Those that took their process down with them are not tried for ever.
    if (claimed.attempt > WAITS.length + 1) throw new Error('its workers were lost');
    const mail = await compose(claimed);
    if (mail === undefined) {
      await store.remove(claimed);
      return { outcome: 'nothing to send' };
    }
    if (smtp === undefined) {
      if (production) throw new Error('SMTP_URL is not set');
      await store.finish(claimed, { status: 'captured', to: mail.to, content: mail });
      return { outcome: 'captured', to: mail.to, subject: mail.subject };
    }
    await smtp.send(mail, claimed.id, stopping.signal);
    await noteSent(claimed, mail.to);
    return { outcome: 'sent' };
  }

  /** What was sent must not be sent again for want of a note of it, so a short absence of Postgres is waited out. */
  async function noteSent(claimed: ClaimedMail, to: string): Promise<void> {
    for (const pause of [...STORE_AGAIN_MS, undefined]) {
      try {
        return await store.finish(claimed, { status: 'sent', to });
      } catch (error) {
        log.error({ mail: claimed.id, err: error }, 'an e-mail was sent, and that could not be noted');
        if (pause !== undefined) await sleep(pause);
      }
    }
  }

  /** What becomes of an e-mail whose attempt failed. */
  async function settle(claimed: ClaimedMail, error: unknown): Promise<Outcome> {
    const text = String(error).slice(0, ERROR_MAX);
    const wait = WAITS[claimed.attempt - 1];
    if (wait === undefined || isRefused(error)) {
      await store.finish(claimed, { status: 'failed', error: text });
      return 'failed';
    }
    await store.postpone(claimed, text, wait);
    return 'postponed';
  }

  async function work(id: string): Promise<void> {
    const claimed = await store.claim(id);
    if (claimed === undefined) return;
    const started = performance.now();
    const line = (delivered: Delivered) => ({
      mail: id,
      kind: claimed.maker?.kind,
      attempt: claimed.attempt,
      ...delivered,
      ms: Math.round(performance.now() - started),
    });
    try {
      log.info(line(await deliver(claimed)), 'e-mail');
    } catch (error) {
      const outcome = await settle(claimed, error);
      // The text alone: what else an error of the mail server carries may name who it was for.
      log.error({ ...line({ outcome }), error: String(error).slice(0, ERROR_MAX) }, 'an e-mail was not sent');
    }
  }

  const worker = queues.work(MAIL_QUEUE, ({ data }) => work(data.id), CONCURRENCY);
  return {
    async stop() {
      const giveUp = setTimeout(() => stopping.abort(), settings.graceMs);
      await worker.stop();
      clearTimeout(giveUp);
    },
  };
}
