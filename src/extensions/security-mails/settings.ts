import { z } from 'zod';
import { wholeNumberSettingSchema } from '../../extension/index.ts';

const MAX_PER_DAY = 1000;

/** Whether an e-mail is sent. */
const switchSchema = z.boolean({ error: 'must be true or false' }).default(true);

/** The settings of the extension. */
export const securityMailsSettings = z.strictObject({
  /** A sign-in from a device that the account has not used before. */
  newDevice: switchSchema,
  /** The password was changed or reset. */
  passwordChanged: switchSchema,
  /** Two-factor login was turned on or off. */
  twoFactor: switchSchema,
  /** A recovery code was used. */
  recoveryCode: switchSchema,
  /** An account at a provider was linked, or a link removed. */
  identities: switchSchema,
  /** A passkey was added or removed. */
  passkeys: switchSchema,
  /** The maximum number of e-mails of one kind that a user gets in a day. */
  maxPerDay: wholeNumberSettingSchema(MAX_PER_DAY).default(20),
});

/** The settings of the extension as a project writes them. All are optional. */
export type SecurityMailsOptions = z.input<typeof securityMailsSettings>;

/** The settings with all defaults filled. */
export type SecurityMailsSettings = z.output<typeof securityMailsSettings>;
