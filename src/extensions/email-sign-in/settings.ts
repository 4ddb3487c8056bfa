import { z } from 'zod';
import {
  type Accounts,
  type EmailProofs,
  type ExtensionHost,
  lifetimeSetting,
  limitSetting,
  type ResourceGateway,
  RULE_FORM,
} from '../../extension/index.ts';

/** Returns additional fields of a new user, such as a name. They are validated like those of a registration, but every field may be set. */
type CreateUser = (about: { email: string }) => Readonly<Record<string, unknown>> | Promise<Record<string, unknown>>;

const URL_ERROR = 'must look like https://app.example.com/sign-in, without a fragment';

/** The settings of the extension. */
export const emailSignInSettings = z.strictObject({
  /** The page that finishes the sign-in; e-mails link to it with `token` in the fragment. Default `${APP_URL}/sign-in`. */
  url: z
    .url({ protocol: /^https?$/, error: URL_ERROR })
    .refine((url) => !url.includes('#'), { error: URL_ERROR })
    .optional(),
  /** How long a link and its code work. */
  ttl: lifetimeSetting('1h').prefault('10m'),
  /** Whether signing in with an address that has no account creates one. It never does if the setting `auth.register` is false. */
  register: z.boolean().default(true),
  createUser: z.custom<CreateUser>((value) => typeof value === 'function', { error: 'must be a function' }).optional(),
  /** The limit of e-mails to one address, whichever clients request them. False: no limit. */
  mailLimit: z
    .union([limitSetting, z.literal(false)], { error: `must be false or ${RULE_FORM}` })
    .default({ limit: 5, windowMs: 15 * 60_000 }),
});

/** The settings of the extension as a project writes them. All are optional. */
export type EmailSignInOptions = z.input<typeof emailSignInSettings> & {
  /** @deprecated Use `ttl`. */
  expiresMinutes?: number;
};

/** The dependencies of the extension's operations. */
export interface EmailSignInContext {
  host: ExtensionHost;
  accounts: Accounts;
  users: ResourceGateway;
  proofs: EmailProofs;
  settings: z.output<typeof emailSignInSettings>;
  /** Whether an address without an account may get one. */
  canRegister: boolean;
}
