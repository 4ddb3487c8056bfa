import { z } from 'zod';
import { isActive } from '../../declare/actor.ts';
import type { RouteContext } from '../../declare/route.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import type { Limiter } from '../../platform/limits/limiter.ts';
import type { MailComposer } from '../../platform/mail/worker.ts';
import type { Platform } from '../../platform/platform.ts';
import type { AccountsContext } from '../context.ts';
import { passwordResetTemplate } from './template.ts';

/** The kind of the e-mails that carry a link. */
export const RESET_MAIL = 'password-reset';

/** The body of a request for a link. */
export const forgotInput = z.strictObject({
  email: z
    .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
    .max(320, { error: 'Must be at most 320 characters' })
    .trim()
    .toLowerCase()
    .pipe(z.email({ error: 'Must be a valid e-mail address' })),
});

/** The answer to it, whosever the e-mail is. */
export const forgotOutput = z.object({ message: z.string() });

const MESSAGE = 'If there is an account with this e-mail address, a link to choose a new password is on its way';

/**
 * `POST /auth/password/forgot`: stores an e-mail that is still to be made. Whether there is an account is looked up by the
 * worker, so neither the answer nor its time depend on it.
 */
export async function forgot({ host }: Pick<AccountsContext, 'host'>, ctx: RouteContext<z.output<typeof forgotInput>>) {
  await host.mail.sendComposed(RESET_MAIL, { email: ctx.input.email, ip: addressOf(ctx.req) });
  return { message: MESSAGE };
}

/** Where a token leads: never to where the request came from, whose headers anybody may write. */
function linkOf(token: string, { settings, env }: Pick<Platform, 'settings' | 'env'>): string {
  const base = env.appUrl ?? `http://localhost:${env.port}`;
  const link = new URL(settings.auth.resetUrl ?? `${base.replace(/\/+$/, '')}/reset-password`);
  link.searchParams.set('token', token);
  return link.href;
}

/** E-mails to one account are as few as requests of one client, however many clients ask. */
function limiterOf({ settings, env, limits }: Platform): Limiter | undefined {
  const { enabled = env.nodeEnv !== 'test', auth } = settings.rateLimit;
  return enabled && auth !== false ? limits.limiter('password reset mails', auth) : undefined;
}

/** Makes the e-mail of a request: with it the token, so that no token is stored anywhere but hashed. */
export function createResetComposer({
  host,
  users,
  resets,
}: Pick<AccountsContext, 'host' | 'users' | 'resets'>): MailComposer {
  const { settings, events } = host;
  const minutes = settings.auth.resetTokenTtlMinutes;
  const template = settings.mail.templates.passwordReset ?? passwordResetTemplate;
  const limiter = limiterOf(host);
  return async ({ data, requestedAt, attempt }) => {
    const { user } = (await users.findForLogin(String(data.email))) ?? {};
    if (user === undefined || !isActive(user)) return undefined;
    if (attempt === 1 && limiter !== undefined && !(await limiter.consume(user.id)).allowed) return undefined;
    const token = await resets.grant(user, requestedAt);
    if (token === undefined) return undefined;
    if (attempt === 1) events.emit('auth.password_reset_requested', { user, ip: data.ip });
    const content = await template({ user, link: linkOf(token, host), minutes });
    // The address of the account, not the one that was typed.
    return { ...content, to: String(user.email) };
  };
}
