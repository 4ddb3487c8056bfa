import { z } from 'zod';
import { INVITATION_MAIL_LIMIT } from '../../accounts/invitation-mails.ts';
import type { Accounts } from '../../declare/accounts.ts';
import type { Host, ResourceGateway } from '../../declare/host.ts';
import { compiledPolicySettingSchema } from '../../extension/setting-schemas.ts';
import type { KeyedQueue } from '../../platform/helpers/concurrency/serial-queue.ts';
import { limitRule, RULE_FORM } from '../../platform/work/limits/rule.ts';
import type { InvitationStore } from './store.ts';

const MAX_DAYS = 90;
const EXPIRY_ERROR = `must be a number of days greater than 0, at most ${MAX_DAYS}`;
const URL_ERROR = 'must look like https://app.example.com/invitation, without a fragment';

/** The settings of the extension. */
export const invitationSettings = z.strictObject({
  /** The users that can invite. Default `admin`. */
  policy: compiledPolicySettingSchema.prefault('admin'),
  /** Days for which an invitation works. */
  expiresDays: z.number({ error: EXPIRY_ERROR }).positive(EXPIRY_ERROR).max(MAX_DAYS, EXPIRY_ERROR).default(7),
  /** The page on which invited users register. Default `${APP_URL}/invitation`. */
  url: z
    .url({ protocol: /^https?$/, error: URL_ERROR })
    .refine((url) => !url.includes('#'), { error: URL_ERROR })
    .optional(),
  /** Maximum pending invitations of one user. */
  maxPending: z.number().int().min(1).max(10_000).default(100),
  /** The limit of e-mails to one address, whichever users invite it. False: no limit. */
  mailLimit: z
    .union([limitRule, z.literal(false)], { error: `must be false or ${RULE_FORM}` })
    .default(INVITATION_MAIL_LIMIT),
});

/** The settings of the extension as a project writes them. All are optional. */
export type InvitationOptions = z.input<typeof invitationSettings>;

/** The dependencies of the extension's operations. */
export interface InvitationContext {
  host: Host;
  accounts: Accounts;
  users: ResourceGateway;
  settings: z.output<typeof invitationSettings>;
  store: InvitationStore;
  /** Runs the acceptances of one link one after the other, in this process. */
  queue: KeyedQueue;
}
