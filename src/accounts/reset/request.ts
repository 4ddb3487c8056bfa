import { z } from 'zod';
import { isAccountActive } from '../../declare/actor.ts';
import type { Host } from '../../declare/host.ts';
import type { RouteContext } from '../../declare/route.ts';
import { emailInput } from '../../platform/helpers/email-address.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { localeOfUser } from '../../platform/helpers/locale.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import type { MailComposer } from '../../platform/mail/worker.ts';
import type { Platform } from '../../platform/platform.ts';
import { appHostOf, getAppUrl } from '../../platform/settings/environment.ts';
import type { Limiter } from '../../platform/work/limits/limiter.ts';
import type { Users } from '../users/users.ts';
import type { Resets } from './store.ts';

/** The kind of the e-mails with a reset link. With `undone` in their data (ISO 8601), they report that the change of an address was undone. */
export const RESET_MAIL = 'password-reset';

/** The name of the limit of reset e-mails to one account. */
const RESET_LIMIT = 'password reset mails';

/** What composing the e-mails with a link needs. */
export interface ResetMailDependencies {
  host: Host;
  users: Users;
  resets: Resets;
}

/** The body of `POST /auth/password/forgot`. */
export const forgotInput = z.strictObject({ email: emailInput });

/** The response to `POST /auth/password/forgot`; it is the same for known and unknown addresses. */
export const forgotOutput = z.object({ message: z.string() });

const MESSAGE = 'If there is an account with this e-mail address, a link to choose a new password is on its way';

/**
 * `POST /auth/password/forgot`: stores an e-mail to be composed later. The worker looks up the account, so neither the response
 * nor its time reveals whether the address has an account.
 */
export async function queueResetMail({ host }: { host: Host }, ctx: RouteContext<z.output<typeof forgotInput>>) {
  await host.mail.sendComposed(RESET_MAIL, { email: ctx.input.email, ip: addressOf(ctx.req) });
  return { message: host.languages.for(ctx.req).text(MESSAGE) };
}

/** Returns the reset link for a token. The link never depends on the request, whose headers an attacker could choose. */
function resetLinkOf(token: string, { settings, env }: Pick<Platform, 'settings' | 'env'>): string {
  const link = new URL(settings.auth.resetUrl ?? `${getAppUrl(env)}/reset-password`);
  link.searchParams.set('token', token);
  return link.href;
}

/**
 * Creates the limiter of reset e-mails per account, with the limit that applies to auth requests of one client: many clients together
 * must not flood one mailbox. Undefined if rate limits are off.
 */
function createResetLimiter({ settings, env, limits }: Platform): Limiter | undefined {
  const { enabled = env.nodeEnv !== 'test', auth } = settings.rateLimit;
  return enabled && auth !== false ? limits.limiter(RESET_LIMIT, auth) : undefined;
}

/**
 * Checks that the limit of reset e-mails to an account allows another one, for an administrator who sends it: the composer drops e-mails beyond the
 * limit silently. E-mails that wait to be composed are not counted yet. One round trip.
 *
 * @throws ApiError RATE_LIMITED
 */
export async function assertResetMailIsSent(host: Pick<Platform, 'limits' | 'log'>, userId: string): Promise<void> {
  const counts = await host.limits.readClient(userId).catch((error: unknown) => {
    // Without Redis, the processes that compose e-mails count for themselves.
    host.log.warn({ err: error }, 'could not read how many reset e-mails an account has got');
    return [];
  });
  const counted = counts.find(({ name }) => name === RESET_LIMIT);
  if (counted === undefined || counted.count < counted.rule.limit) return;
  const minutes = Math.max(1, Math.ceil(counted.leftMs / 60_000));
  throw new ApiError(
    'RATE_LIMITED',
    `This account has got ${counted.rule.limit} reset e-mails; the next one is possible in ${minutes} min`,
    { retryAfter: Math.max(1, Math.ceil(counted.leftMs / 1000)) },
  );
}

/** Returns the variables of the e-mail that follows when the change of an address was undone. */
function createNoticeData({ undone, ip }: Record<string, unknown>, { env }: Pick<Platform, 'env'>) {
  return { appHost: appHostOf(env), at: String(undone), ip: String(ip ?? '') };
}

/** Creates the composer of reset e-mails. It creates the token while composing, so that the token is only ever stored as a hash. */
export function createResetMailComposer({ host, users, resets }: ResetMailDependencies): MailComposer {
  const { settings, events } = host;
  const minutes = settings.auth.resetTokenTtlMinutes;
  const limiter = createResetLimiter(host);
  return async ({ data, requestedAt, attempt }) => {
    const { user } = (await users.findAccountByEmail(String(data.email))) ?? {};
    if (user === undefined || !isAccountActive(user)) return undefined;
    if (attempt === 1 && limiter !== undefined && !(await limiter.consume(user.id)).allowed) return undefined;
    const token = await resets.createToken(user, requestedAt);
    if (token === undefined) return undefined;
    if (attempt === 1) events.emit('auth.password_reset_requested', { user, ip: data.ip });
    const about = { user, link: resetLinkOf(token, host), minutes };
    const locale = localeOfUser(user, data.locale);
    const content = await (data.undone === undefined
      ? host.mailTexts.render('password-reset', about, locale)
      : host.mailTexts.render('email-change-undone', { ...about, ...createNoticeData(data, host) }, locale));
    // Send to the stored address of the user, not to the address in the request.
    return { ...content, to: String(user.email) };
  };
}
