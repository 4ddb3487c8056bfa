import { z } from 'zod';
import type { Accounts } from '../../declare/accounts.ts';
import { compiledPolicySettingSchema } from '../../declare/extension.ts';
import type { Host, ResourceGateway } from '../../declare/host.ts';
import { limitRule } from '../../platform/limits/rule.ts';
import type { InvitationStore } from './store.ts';

const MAX_DAYS = 90;

/** The settings of the extension. */
export const invitationSettings = z.strictObject({
  /** The users that can invite. Default `admin`. */
  policy: compiledPolicySettingSchema.prefault('admin'),
  /** Days for which an invitation works. */
  expiresDays: z.number().positive().max(MAX_DAYS).default(7),
  /** The page on which invited users register. Default `${APP_URL}/invitation`. */
  url: z.url({ protocol: /^https?$/, error: 'must look like https://app.example.com/invitation' }).optional(),
  /** Maximum pending invitations of one user. */
  maxPending: z.number().int().min(1).max(10_000).default(100),
  /** The limit of e-mails to one address; further invitations of the address send none. */
  mailLimit: limitRule.default({ limit: 5, windowMs: 24 * 60 * 60_000 }),
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
}
