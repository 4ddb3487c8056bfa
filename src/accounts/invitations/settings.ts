import { z } from 'zod';
import type { Host } from '../../declare/host.ts';
import { lifetimeSetting } from '../../platform/helpers/duration-setting.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import type { LimitRule } from '../../platform/work/limits/rule.ts';

const URL_ERROR = 'must look like https://app.example.com/invitation, without a fragment';

/** The setting of the time for which an invitation works. */
export const invitationTtlSetting = lifetimeSetting('90d').prefault('7d');

/** The setting of the page that accepts an invitation. */
export const invitationUrlSetting = z
  .url({ protocol: /^https?$/, error: URL_ERROR })
  .refine((url) => !url.includes('#'), { error: URL_ERROR })
  .optional();

/** The default limit of invitations to one address. */
export const INVITATION_MAIL_LIMIT: LimitRule = { limit: 5, windowMs: 24 * 60 * 60_000 };

/** What a limit of invitations is about. `name` identifies the limit. */
const OF_ADDRESS = {
  name: 'invitation mails',
  message: 'This address has received too many invitations; try again later',
};

/**
 * Creates the function that counts invitations against a limit. Default: per address, because many inviters together must not flood one mailbox;
 * invitations of all kinds count together.
 *
 * @returns a function that takes the address that receives the invitation, or the inviter that the limit is about, and throws
 *   ApiError RATE_LIMITED
 */
export function createInvitationMailCounter(
  host: Pick<Host, 'env' | 'limits' | 'settings'>,
  rule: LimitRule | false,
  { name, message } = OF_ADDRESS,
): (key: string) => Promise<void> {
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const limiter = enabled && rule !== false ? host.limits.limiter(name, rule) : undefined;
  return async (key) => {
    const verdict = await limiter?.consume(key);
    if (verdict === undefined || verdict.allowed) return;
    const retryAfter = Math.max(1, Math.ceil(verdict.leftMs / 1000));
    throw new ApiError('RATE_LIMITED', message, { retryAfter });
  };
}
