import type { Host } from '../declare/host.ts';
import { ApiError } from '../platform/errors.ts';
import type { LimitRule } from '../platform/limits/rule.ts';

/** The default limit of invitations to one address. */
export const INVITATION_MAIL_LIMIT: LimitRule = { limit: 5, windowMs: 24 * 60 * 60_000 };

/**
 * Counts an invitation to an address against a limit.
 *
 * @throws ApiError RATE_LIMITED if the address has received too many
 */
export type CountMail = (email: string) => Promise<void>;

/**
 * Creates the function that counts invitations per address: many inviters together must not flood one mailbox. Invitations of all kinds count
 * together.
 */
export function createInvitationMailCounter(
  host: Pick<Host, 'env' | 'limits' | 'settings'>,
  mailLimit: LimitRule | false,
): CountMail {
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const limiter = enabled && mailLimit !== false ? host.limits.limiter('invitation mails', mailLimit) : undefined;
  return async (email) => {
    const verdict = await limiter?.consume(email);
    if (verdict === undefined || verdict.allowed) return;
    const retryAfter = Math.max(1, Math.ceil(verdict.leftMs / 1000));
    const message = 'This address has received too many invitations; try again later';
    throw new ApiError('RATE_LIMITED', message, { retryAfter });
  };
}
