import { ApiError, type ConsoleRoute, type Host, isEmailAddress, type RouteContext } from '../../../extension/index.ts';
import type { MailProgress } from '../../../platform/mail/listed.ts';
import type { CompleteMail } from '../../../platform/mail/message.ts';
import type { MailStore } from '../../../platform/mail/store.ts';
import type { TestProgress } from './responses.ts';

/** Tests to one administrator. */
const TEST_LIMIT = { limit: 5, windowMs: 60_000 };

/** The codes of nodemailer, by what is wrong. */
const PROBLEMS = {
  unreachable: ['ECONNECTION', 'ESOCKET', 'ETIMEDOUT', 'EDNS'],
  tls: ['ETLS', 'EREQUIRETLS'],
  signIn: ['EAUTH', 'ENOAUTH', 'EOAUTH2'],
  address: ['EENVELOPE'],
  text: ['EMESSAGE'],
};

function problemOf(error: string): TestProgress['problem'] {
  if (error.includes('SMTP_URL is not set')) return 'noServer';
  const code = /\((E[A-Z0-9]+)\)$/.exec(error)?.[1];
  const [problem] = Object.entries(PROBLEMS).find(([, codes]) => code !== undefined && codes.includes(code)) ?? [];
  return (problem as keyof typeof PROBLEMS | undefined) ?? 'other';
}

/** Removes the credentials of the mail server from its error: a server may repeat what it was sent. */
function removeCredentials(error: string, { smtp }: Host['env']): string {
  if (smtp === undefined) return error;
  const { username, password } = new URL(smtp.url);
  const plain = decodeURIComponent(password);
  const encoded = Buffer.from(`\0${decodeURIComponent(username)}\0${plain}`).toString('base64');
  return [smtp.url, password, plain, encoded, Buffer.from(plain).toString('base64')]
    .filter((secret) => secret !== '')
    .reduce((text, secret) => text.replaceAll(secret, '[redacted]'), error);
}

const toProgressInfo = ({ error, ...progress }: MailProgress, env: Host['env']): TestProgress => ({
  ...progress,
  problem: error === null ? null : problemOf(error),
  error: error === null ? null : removeCredentials(error.replace(/^Error: /, ''), env),
});

/** The address of the administrator who is signed in; undefined in development, and without an address. */
export function ownAddressOf({ user }: Pick<RouteContext, 'user'>): string | undefined {
  return typeof user?.email === 'string' && isEmailAddress(user.email) ? user.email : undefined;
}

/**
 * The routes that send an e-mail with example values to the administrator who is signed in, and tell what has become of it. They accept no
 * address: the console must not become a relay.
 */
export function testRoutes(
  host: Pick<Host, 'mail' | 'limits' | 'settings' | 'env'>,
  store: Pick<MailStore, 'readProgress'>,
  renderExample: (ctx: Pick<RouteContext, 'params'>, to: string) => Promise<CompleteMail>,
): ConsoleRoute[] {
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const limiter = enabled ? host.limits.limiter('console mail tests', TEST_LIMIT) : undefined;

  function getRecipient(ctx: Pick<RouteContext, 'user'>): string {
    const to = ownAddressOf(ctx);
    if (to === undefined) throw new ApiError('CONFLICT', 'Your account has no e-mail address to which a test could go');
    return to;
  }

  return [
    {
      method: 'POST',
      path: '/texts/:kind/:locale/test',
      status: 202,
      action: 'mailTested',
      recordedAs: ({ params: { kind, locale } }) => ({ resource: 'mail', record: null, details: { kind, locale } }),
      async check(ctx) {
        if (host.env.smtp === undefined)
          throw new ApiError('CONFLICT', 'No mail server is set; set SMTP_URL and MAIL_FROM');
        await renderExample(ctx, getRecipient(ctx));
        const verdict = await limiter?.consume(ctx.user!.id);
        if (verdict?.allowed === false)
          throw new ApiError('RATE_LIMITED', `You can send ${TEST_LIMIT.limit} tests in a minute`, {
            retryAfter: Math.max(1, Math.ceil(verdict.leftMs / 1000)),
          });
      },
      handler: async (ctx) => host.mail.send(await renderExample(ctx, getRecipient(ctx))),
    },
    {
      method: 'GET',
      path: '/tests/:id',
      async handler(ctx) {
        const progress = await store.readProgress(ctx.params.id!, getRecipient(ctx));
        if (progress === undefined) throw new ApiError('NOT_FOUND', 'There is no test with this id');
        return toProgressInfo(progress, host.env);
      },
    },
  ];
}
