import {
  appHostOf,
  type ExtensionHost,
  localeOfUser,
  type MailComposer,
  type MailVariables,
} from '../../../extension/index.ts';
import { type EndpointRow, serializeEndpoint } from './endpoint.ts';
import { READ_ENDPOINT } from './endpoints-sql.ts';
import { describeForMail, loadRecipient, type Recipient } from './mails.ts';
import type { EndpointOwners } from './owners.ts';

/** The kind of the e-mail about an endpoint that fails. Its data: `FailingMail`. */
export const FAILING_MAIL = 'webhook-failing';

/** The kind of the e-mail about an endpoint that works again. Its data: `{ webhook, owner, organisation? }`, ids. */
export const RECOVERED_MAIL = 'webhook-recovered';

/** Maximum e-mails of each kind to one owner per day, for owners who create and delete endpoints again and again. */
const MAX_ALERT_MAILS = { limit: 10, windowMs: 86_400_000 };

/** The stored data of the e-mail about an endpoint that fails. */
interface FailingMail extends Recipient {
  /** The id of the endpoint. */
  webhook: string;
  consecutiveFailures: number;
  failuresLeft: number;
  event: string;
  error: string | null;
}

/**
 * Creates the composers of the e-mails about endpoints that fail and that work again. They compose no e-mail if the endpoint was disabled or
 * deleted meanwhile, or if its owner is not active.
 */
export function createAlertComposers(
  host: Pick<
    ExtensionHost,
    'database' | 'limits' | 'settings' | 'env' | 'mailTexts' | 'organisationAccess' | 'service'
  >,
  owners: Pick<EndpointOwners, 'users' | 'organisations'>,
): Record<typeof FAILING_MAIL | typeof RECOVERED_MAIL, MailComposer> {
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const appHost = appHostOf(host.env);

  /** @param render creates the text of the e-mail from its endpoint and its data, in the language of the owner */
  function createComposer(
    limitName: string,
    render: (
      webhook: MailVariables['webhook-failing']['webhook'],
      data: Record<string, unknown>,
      locale: string | undefined,
    ) => ReturnType<ExtensionHost['mailTexts']['render']>,
  ): MailComposer {
    const limiter = enabled ? host.limits.limiter(limitName, MAX_ALERT_MAILS) : undefined;
    return async ({ data, attempt }) => {
      const { webhook: id, owner, organisation, role } = data as unknown as Recipient & { webhook: string };
      const statement = { name: 'webhook_read', text: READ_ENDPOINT, values: [id, organisation ?? owner] };
      const [[row], user] = await Promise.all([
        host.database.read<EndpointRow>(statement),
        loadRecipient(host, owners.users, { owner, ...(organisation !== undefined && { organisation, role }) }),
      ]);
      const webhook = row && serializeEndpoint(row);
      if (!webhook?.enabled || user === undefined) return undefined;
      if (attempt === 1 && limiter !== undefined && !(await limiter.consume(owner)).allowed) return undefined;
      const described = await describeForMail(owners, webhook, organisation);
      return { ...(await render(described, data, localeOfUser(user, data.locale))), to: user.email };
    };
  }

  return {
    [FAILING_MAIL]: createComposer('webhook failing mails', (webhook, data, locale) => {
      const { consecutiveFailures, failuresLeft, event, error } = data as unknown as FailingMail;
      const about = { webhook, consecutiveFailures, failuresLeft, event, lastError: error, appHost };
      return host.mailTexts.render('webhook-failing', about, locale);
    }),
    [RECOVERED_MAIL]: createComposer('webhook recovery mails', (webhook, _, locale) =>
      host.mailTexts.render('webhook-recovered', { webhook, appHost }, locale),
    ),
  };
}
