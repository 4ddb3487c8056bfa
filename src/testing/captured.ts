import type { CapturedMail } from '../platform/mail/store.ts';
import type { CapturedPush } from '../push/history/read-push.ts';
import type { AssembledApp } from '../runtime/assemble.ts';
import { type WaitOptions, waitFor } from './waiting/wait.ts';

/** Which e-mail a test waits for. */
export interface MailFilter extends WaitOptions {
  /** The address of the recipient. */
  to?: string;
  /** The subject, or an expression that it matches. */
  subject?: string | RegExp;
}

/** Which push a test waits for. */
export interface PushFilter extends WaitOptions {
  /** The id of the user who has the device. */
  to?: string;
  /** The title, or an expression that it matches. */
  title?: string | RegExp;
}

/** The e-mails and pushes that the app sent. They are captured and never leave the machine. */
export interface CapturedMessages {
  /** The e-mails so far, newest first. */
  mails(): Promise<CapturedMail[]>;
  /** Waits for an e-mail. Each e-mail is returned once, so that a second call waits for a second e-mail. */
  waitForMail(filter?: MailFilter): Promise<CapturedMail>;
  /** The pushes so far, newest first. */
  pushes(): Promise<CapturedPush[]>;
  /** Waits for a push to a device. Each push is returned once, so that a second call waits for a second push. */
  waitForPush(filter?: PushFilter): Promise<CapturedPush>;
}

function matchesText(text: unknown, wanted: string | RegExp | undefined): boolean {
  if (wanted === undefined) return true;
  return typeof wanted === 'string' ? text === wanted : String(text).search(wanted) >= 0;
}

/** Returns `to ada@example.com with subject "Hello"`. */
function describeFilter(filter: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(filter).filter(([name, value]) => name !== 'timeoutMs' && value !== undefined);
  return parts
    .map(([name, value]) => ` with ${name} ${value instanceof RegExp ? value : JSON.stringify(value)}`)
    .join('');
}

/** Returns a function that returns each of a growing list of messages once. */
function createOnceReader<Message extends { id: string }>(list: () => Promise<Message[]>) {
  const returned = new Set<string>();
  return async (isWanted: (message: Message) => boolean): Promise<Message | undefined> => {
    const found = (await list()).findLast((message) => !returned.has(message.id) && isWanted(message));
    if (found !== undefined) returned.add(found.id);
    return found;
  };
}

/** Returns ` Captured so far: …`, a line for each message. */
function listCaptured(lines: readonly string[]): string {
  return lines.length === 0 ? ' None was sent.' : ` Sent so far:\n${lines.map((line) => `  - ${line}`).join('\n')}`;
}

/** Creates the access to the captured messages of an app. */
export function createCapturedMessages({ mail, push }: Pick<AssembledApp, 'mail' | 'push'>): CapturedMessages {
  const captured = { mails: mail.listCaptured, pushes: push.captured.pushes };
  const nextMail = createOnceReader(captured.mails);
  const nextPush = createOnceReader(captured.pushes);
  return {
    mails: () => captured.mails(),
    pushes: () => captured.pushes(),
    waitForMail: (filter = {}) =>
      waitFor(
        () =>
          nextMail(
            ({ to, subject }) => matchesText(to, filter.to?.toLowerCase()) && matchesText(subject, filter.subject),
          ),
        async (ms) => {
          const lines = (await captured.mails()).map(({ to, subject }) => `to ${to}: ${subject}`);
          return `No new e-mail${describeFilter({ ...filter })} within ${ms} ms.${listCaptured(lines)}`;
        },
        filter,
      ),
    waitForPush: (filter = {}) =>
      waitFor(
        () =>
          nextPush(
            ({ message, devices }) =>
              (filter.to === undefined || devices.some(({ user }) => user === filter.to)) &&
              matchesText(message.title, filter.title),
          ),
        async (ms) => {
          const lines = (await captured.pushes()).map(
            ({ message, devices }) => `to ${devices.map(({ user }) => user).join(', ')}: ${String(message.title)}`,
          );
          const hint = lines.length === 0 ? ' A user needs a device to receive a push: await user.addDevice()' : '';
          return `No new push${describeFilter({ ...filter })} within ${ms} ms.${listCaptured(lines)}${hint}`;
        },
        filter,
      ),
  };
}
