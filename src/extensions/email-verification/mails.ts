import {
  appHostOf,
  createProofLink,
  type IssuedProof,
  isAccountActive,
  isEmailVerified,
  localeOfUser,
  type MailComposer,
  type OutboxConsumer,
  type StoredRecord,
} from '../../extension/index.ts';
import type { EmailVerificationContext } from './context.ts';

/** The kind of the e-mail that confirms an address. Its data: `{ user, proof?, locale? }`, ids. */
export const VERIFY_MAIL = 'verify-email';
/** The kind of the e-mail to a new address. Its data: `{ user, proof, locale? }`. */
export const CHANGE_MAIL = 'change-email';
/** The kind of the e-mail to a former address. Its data: `{ user, proof?, email?, at, ip, minutes, locale? }`; without `proof`, it has no link. */
export const CHANGED_MAIL = 'email-changed';

/** Creates the composers of the extension's e-mails. Each creates the secrets of its link and code while composing. */
export function createVerificationMails(context: EmailVerificationContext): Record<string, MailComposer> {
  const { host, accounts, users, settings, proofs, mayMail } = context;
  const { verifyUrl, changeUrl, undoUrl } = settings;
  const minutes = settings.ttl / 60_000;

  async function findActiveUser(id: unknown): Promise<StoredRecord | undefined> {
    const [user] = await users.load([String(id)]);
    return user !== undefined && isAccountActive(user) ? user : undefined;
  }

  /** Whether an e-mail may be sent now; a repeated attempt of the same e-mail is not counted again. */
  const isWithinLimit = async (key: string, attempt: number) => attempt > 1 || (await mayMail(key));

  /** Creates the secrets of a requested proof or, for a registration, of a new one. */
  async function issueVerification(user: StoredRecord, requested: unknown): Promise<IssuedProof | undefined> {
    if (typeof requested === 'string') return proofs.verify.issue(requested, minutes);
    const proof = { email: String(user.email), userId: user.id };
    return proofs.verify.issue((await proofs.verify.request(proof, { boundToClient: false })).id, minutes);
  }

  return {
    async [VERIFY_MAIL]({ data, attempt }) {
      const user = await findActiveUser(data.user);
      if (user === undefined || isEmailVerified(user)) return undefined;
      // A login has checked the limit before it requested the proof.
      if (data.proof === undefined && !(await isWithinLimit(`verify:${user.id}`, attempt))) return undefined;
      const issued = await issueVerification(user, data.proof);
      // The address has been changed since, for example by an admin.
      if (issued === undefined || issued.email !== user.email) return undefined;
      const { token, code, email } = issued;
      const link = createProofLink(host, verifyUrl, '/verify-email', token);
      const locale = localeOfUser(user, data.locale);
      return { to: email, ...(await host.mailTexts.render(VERIFY_MAIL, { user, link, code, minutes }, locale)) };
    },
    async [CHANGE_MAIL]({ data, attempt }) {
      const user = await findActiveUser(data.user);
      if (user === undefined || !(await isWithinLimit(`change:${user.id}`, attempt))) return undefined;
      const issued = await proofs.change.issue(String(data.proof), minutes);
      if (issued === undefined || (await accounts.findUserByEmail(issued.email)) !== undefined) return undefined;
      const { token, code, email } = issued;
      if (!(await isWithinLimit(email, attempt))) return undefined;
      const link = createProofLink(host, changeUrl, '/change-email', token);
      const locale = localeOfUser(user, data.locale);
      return { to: email, ...(await host.mailTexts.render(CHANGE_MAIL, { user, link, code, minutes }, locale)) };
    },
    async [CHANGED_MAIL]({ data }) {
      // An attacker may have had the account disabled; the owner of the former address gets the link nevertheless.
      const [user] = await users.load([String(data.user)]);
      if (user === undefined) return undefined;
      const undoMinutes = Number(data.minutes);
      const issued = data.proof === undefined ? undefined : await proofs.undo.issue(String(data.proof), undoMinutes);
      const to = issued?.email ?? data.email;
      // The change has been undone already.
      if (typeof to !== 'string') return undefined;
      const about = {
        user,
        appHost: appHostOf(host.env),
        at: String(data.at),
        ip: String(data.ip),
        undoLink: issued && createProofLink(host, undoUrl, '/undo-email-change', issued.token),
        minutes: undoMinutes,
      };
      return { to, ...(await host.mailTexts.render(CHANGED_MAIL, about, localeOfUser(user, data.locale))) };
    },
  };
}

/** Creates the relay consumer that sends the e-mail that confirms the address of a new user. */
export function createRegistrationConsumer({ host, users }: EmailVerificationContext): OutboxConsumer {
  return {
    wants: ({ name, payload }) => {
      if (name !== `${users.name}.created`) return false;
      const { email, email_verified_at: verifiedAt } = payload.record as Record<string, unknown>;
      return typeof email === 'string' && (verifiedAt === null || verifiedAt === undefined);
    },
    async handle(rows, tx) {
      const work: (() => unknown)[] = [];
      const data = rows.map(({ recordId, payload }) => ({ user: recordId!, locale: payload.locale }));
      const within = { database: tx, afterCommit: (one: () => unknown) => work.push(one) };
      await host.mail.sendManyComposed(VERIFY_MAIL, data, within);
      return async () => {
        for (const one of work) await one();
      };
    },
  };
}
