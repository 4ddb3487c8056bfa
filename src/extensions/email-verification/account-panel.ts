import {
  type AccountPanel,
  ApiError,
  isAccountActive,
  isEmailVerified,
  type StoredRecord,
} from '../../extension/index.ts';
import type { EmailVerificationContext } from './context.ts';
import { VERIFY_MAIL } from './mails.ts';

/** Creates the panel that says whether the address of an account is verified. */
export function createVerificationPanel({ host, accounts, users, settings }: EmailVerificationContext): AccountPanel {
  /** @throws ApiError NOT_FOUND; CONFLICT if the address is verified already */
  async function readUnverified(userId: string): Promise<StoredRecord> {
    const [user] = await users.load([userId]);
    if (user === undefined) throw new ApiError('NOT_FOUND', 'This account no longer exists');
    if (isEmailVerified(user)) throw new ApiError('CONFLICT', 'The address is already verified');
    return user;
  }

  return {
    id: 'email-verification',
    label: 'E-mail address',
    async read(userId) {
      const [user] = await users.load([userId]);
      if (user === undefined) return undefined;
      const address = { label: 'Address', value: String(user.email) };
      if (isEmailVerified(user)) {
        const verifiedAt = { label: 'Verified', value: String(user.emailVerifiedAt), kind: 'time' } as const;
        return { facts: [address, verifiedAt], actions: [] };
      }
      const state = { label: 'State', value: 'Not verified', kind: 'word', tone: 'warn' } as const;
      // With `required`, only a link that was requested by a sign-in works.
      const hint = {
        label: 'Next e-mail',
        value: 'Sent at the next sign-in, which waits for it',
        kind: 'word',
      } as const;
      const canSend = !settings.required && isAccountActive(user);
      return {
        facts: [address, state, ...(settings.required ? [hint] : [])],
        actions: [...(canSend ? ['verificationMailRequested'] : []), 'emailVerified'],
      };
    },
    accountActions: [
      {
        id: 'verificationMailRequested',
        label: 'Send the e-mail again',
        done: 'The e-mail with the link is on its way',
        async run({ userId }) {
          const user = await readUnverified(userId);
          if (settings.required || !isAccountActive(user))
            throw new ApiError('CONFLICT', 'This account gets the e-mail with its next sign-in');
          await host.mail.sendComposed(VERIFY_MAIL, { user: userId });
        },
      },
      {
        id: 'emailVerified',
        label: 'Mark as verified',
        confirm: {
          title: 'Mark this address as verified?',
          text: 'Do this only if you know that the address belongs to the user: verified users may have more rights, and password reset links are trusted.',
        },
        needsSecondFactor: true,
        done: 'The address is marked as verified',
        async run({ userId }, { user: admin, req }) {
          const { email } = await readUnverified(userId);
          const options = { claim: false, request: req, by: admin?.id ?? null };
          const isVerified = await host.transaction((tx) => accounts.verifyEmail(userId, String(email), tx, options));
          if (!isVerified) throw new ApiError('CONFLICT', 'The address of the account has changed meanwhile; reload');
        },
      },
    ],
  };
}
