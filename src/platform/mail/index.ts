import type { EncryptedColumn } from '../data/crypto/encrypted-column.ts';
import type { Keyring } from '../data/crypto/keyring.ts';
import { type Backlog, createBacklogReader } from '../work/leased-work/backlog.ts';
import { createReclaimSweep, createRetentionSweep } from '../work/leased-work/sweeps.ts';
import type { Sweep } from '../work/outbox/relay.ts';
import type { RelaySettings } from '../work/outbox/settings.ts';
import type { RunningWorker } from '../work/queues/queues.ts';
import type { CompleteMail } from './message.ts';
import { createMailJob, createMailSender, MAIL_QUEUE, type MailSender } from './sender.ts';
import { type CapturedMail, createMailStore, DUE_MAILS, encryptedMails, KEPT_DAYS } from './store.ts';
import { type MailComposer, type MailWorkerParts, startMailWorker } from './worker.ts';

export { mailTables } from './store.ts';

/** E-mails that were captured instead of sent, for development and tests. */
export interface CapturedMails {
  /** The newest 1,000 e-mails, newest first. Always empty if a mail server is set, and in production. */
  mails(): Promise<CompleteMail[]>;
}

/** The e-mail of an app. */
export interface Mail {
  sender: MailSender;
  captured: CapturedMails;
  /** The captured e-mails with their ids, newest first. */
  listCaptured(): Promise<CapturedMail[]>;
  /** The feature parts: the sweeps, the encrypted columns, the worker that sends e-mails, and how many wait for it. */
  parts: {
    sweeps: readonly Sweep[];
    encrypted: readonly EncryptedColumn[];
    workers: { 'push-worker': () => RunningWorker };
    backlogs: readonly Backlog<'push-worker'>[];
  };
}

/** What the e-mail of an app stands on. */
interface MailParts extends MailWorkerParts {
  keyring: Keyring;
  settings: MailWorkerParts['settings'] & { relay: RelaySettings };
}

/**
 * Creates the e-mail of an app. Opens no connection yet.
 *
 * @param composers returns the composers of all features, by name; called when an e-mail is composed
 * @param findLocale returns the locale that the client of the current request prefers; undefined outside of requests
 */
export function createMail(
  parts: MailParts,
  composers: () => Readonly<Record<string, MailComposer>>,
  findLocale: () => string | undefined,
): Mail {
  const { database, keyring, queues, settings } = parts;
  const store = createMailStore(database, keyring);
  return {
    sender: createMailSender(store, database, queues, findLocale),
    captured: {
      mails: async () =>
        (await store.listCaptured()).map(({ to, subject, text, html }) => ({ to, subject, text, html })),
    },
    listCaptured: () => store.listCaptured(),
    parts: {
      sweeps: [
        createReclaimSweep({
          name: 'mail jobs',
          everyMs: settings.relay.sweepMs,
          ...store.overdueMails,
          addJobs: (rows) =>
            queues.add(
              MAIL_QUEUE,
              rows.map(([id]) => createMailJob(id)),
            ),
        }),
        // Uses index mails_finished_at_index.
        createRetentionSweep(database, {
          name: 'mail retention',
          removals: [{ table: 'mails', column: 'finished_at', keep: `interval '${KEPT_DAYS} days'` }],
        }),
      ],
      encrypted: encryptedMails,
      workers: { 'push-worker': () => startMailWorker(parts, store, composers) },
      backlogs: [
        {
          role: 'push-worker',
          names: ['e-mail', 'e-mails'],
          ownsQueue: (name) => name === MAIL_QUEUE,
          read: createBacklogReader(database, DUE_MAILS),
        },
      ],
    },
  };
}
