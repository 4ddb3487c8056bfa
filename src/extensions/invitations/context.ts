import { z } from 'zod';
import {
  type Accounts,
  compiledPolicySettingSchema,
  type Host,
  INVITATION_MAIL_LIMIT,
  type Invitations,
  invitationTtlSetting,
  invitationUrlSetting,
  type KeyedQueue,
  limitSetting,
  type ResourceGateway,
  RULE_FORM,
} from '../../extension/index.ts';
import type { Content } from './tables.ts';

/** The settings of the extension. */
export const invitationSettings = z.strictObject({
  /** The users that can invite. Default `admin`. */
  policy: compiledPolicySettingSchema.prefault('admin'),
  /** How long an invitation works. */
  ttl: invitationTtlSetting,
  /** The page on which invited users register. Default `${APP_URL}/invitation`. */
  url: invitationUrlSetting,
  /** Maximum pending invitations of one user. */
  maxPending: z.number().int().min(1).max(10_000).default(100),
  /** The limit of e-mails to one address, whichever users invite it. False: no limit. */
  mailLimit: z
    .union([limitSetting, z.literal(false)], { error: `must be false or ${RULE_FORM}` })
    .default(INVITATION_MAIL_LIMIT),
});

/** The settings of the extension as a project writes them. All are optional. */
export type InvitationOptions = z.input<typeof invitationSettings> & {
  /** @deprecated Use `ttl`. */
  expiresDays?: number;
};

/** The dependencies of the extension's operations. */
export interface InvitationContext {
  host: Host;
  accounts: Accounts;
  users: ResourceGateway;
  settings: z.output<typeof invitationSettings>;
  invitations: Invitations<Content>;
  /** Runs the acceptances of one link one after the other, in this process. */
  queue: KeyedQueue;
}
