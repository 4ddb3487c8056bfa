import type { EncryptedColumn } from '../crypto/encrypted-column.ts';
import type { Sweep } from '../outbox/relay.ts';
import type { Platform } from '../platform.ts';
import type { RunningWorker } from '../queues.ts';
import type { WholeMail } from './message.ts';
import { createMailSender, type MailSender } from './sender.ts';
import { createMailStore, encryptedMails } from './store.ts';
import { mailSweeps } from './sweeps.ts';
import { type MailComposer, startMailWorker } from './worker.ts';

export { mailTables } from './tables.ts';

/** E-mails that were captured instead of sent, for development and tests. */
export interface CapturedMails {
  /** The newest 1,000 e-mails, newest first. Always empty where a mail server is set, and in production. */
  mails(): Promise<WholeMail[]>;
}

/** The e-mail of an app. */
export interface Mail {
  sender: MailSender;
  captured: CapturedMails;
  /** Worker and sweeps. */
  parts: {
    sweeps: readonly Sweep[];
    encrypted: readonly EncryptedColumn[];
    workers: { 'push-worker': () => RunningWorker };
  };
}

/**
 * Makes e-mail. Nothing is connected yet.
 *
 * @param composers those of all features, by name; asked for when an e-mail is made
 */
export function createMail(platform: Platform, composers: () => Readonly<Record<string, MailComposer>>): Mail {
  const store = createMailStore(platform.database, platform.keyring);
  return {
    sender: createMailSender(store, platform.database, platform.queues),
    captured: { mails: () => store.captured() },
    parts: {
      sweeps: mailSweeps(platform),
      encrypted: encryptedMails,
      workers: { 'push-worker': () => startMailWorker(platform, store, composers) },
    },
  };
}
