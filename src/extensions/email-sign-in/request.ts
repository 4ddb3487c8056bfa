import { z } from 'zod';
import {
  canonicalLocale,
  createProofLink,
  emailInput,
  isAccountActive,
  type Limiter,
  localeOfUser,
  type MailComposer,
  type RouteContext,
} from '../../extension/index.ts';
import type { EmailSignInContext } from './settings.ts';

/** The kind of the e-mails with a link and a code. */
export const SIGN_IN_MAIL = 'sign-in';

/** The body of `POST /auth/email-sign-in`. */
export const requestInput = z.strictObject({ email: emailInput });

/** The response to `POST /auth/email-sign-in`; it is the same for known and unknown addresses. */
export const requestOutput = z
  .object({
    message: z.string(),
    signInToken: z.string().meta({
      description:
        'Keep it in this browser and send it to `POST /api/auth/email-sign-in/verify`, with the token of the link or the code. It is only returned here.',
    }),
  })
  .meta({ id: 'EmailSignIn' });

const MESSAGE = 'If you can sign in with this e-mail address, an e-mail with a link and a code is on its way';

/**
 * `POST /auth/email-sign-in`: stores a proof without secrets, and an e-mail to be composed later. The worker looks up the account, so neither
 * the response nor its time reveals whether the address has one.
 */
export async function requestSignIn(
  { host, proofs }: Pick<EmailSignInContext, 'host' | 'proofs'>,
  ctx: RouteContext<z.output<typeof requestInput>>,
): Promise<z.input<typeof requestOutput>> {
  const { email } = ctx.input;
  const { id, clientSecret } = await proofs.request({ email }, { boundToClient: true });
  await host.mail.sendComposed(SIGN_IN_MAIL, { proof: id, email });
  return { message: host.languages.for(ctx.req).text(MESSAGE), signInToken: clientSecret };
}

/** Creates the limiter of e-mails per address: many clients together must not flood one mailbox. Undefined if rate limits are off. */
function createAddressLimiter({ host, settings }: EmailSignInContext): Limiter | undefined {
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const { mailLimit } = settings;
  return enabled && mailLimit !== false ? host.limits.limiter('sign-in mails', mailLimit) : undefined;
}

/** Creates the composer of the e-mails. It creates the secrets while composing, so that they are only ever stored as hashes. */
export function createSignInMailComposer(context: EmailSignInContext): MailComposer {
  const { host, accounts, proofs, settings, canRegister } = context;
  const limiter = createAddressLimiter(context);
  const minutes = settings.ttl / 60_000;
  return async ({ data, attempt }) => {
    const address = String(data.email);
    if (attempt === 1 && limiter !== undefined && !(await limiter.consume(address)).allowed) return undefined;
    const user = await accounts.findUserByEmail(address);
    // Also for an address without an account: its proof must expire as early as any other, or clients could tell them apart.
    const issued = await proofs.issue(String(data.proof), minutes, user?.id);
    if (issued === undefined || (user === undefined ? !canRegister : !isAccountActive(user))) return undefined;
    const { token, code, email: to } = issued;
    const locale = user === undefined ? canonicalLocale(data.locale) : localeOfUser(user, data.locale);
    const about = {
      link: createProofLink(host, settings.url, '/sign-in', token),
      code,
      minutes,
      isNewAccount: user === undefined,
    };
    return { ...(await host.mailTexts.render(SIGN_IN_MAIL, about, locale)), to };
  };
}
