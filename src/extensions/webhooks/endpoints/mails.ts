import {
  appHostOf,
  type Host,
  isAccountActive,
  localeOfUser,
  type MailComposer,
  type ResourceGateway,
  type RouteContext,
} from '../../../extension/index.ts';
import { ENDPOINT_COLUMNS, type EndpointRow, serializeEndpoint } from './endpoint.ts';

/** The kind of the e-mail about disabled endpoints of one owner. Its data: `{ webhooks, owner, locale? }`, ids. */
export const DISABLED_MAIL = 'webhook-disabled';

/** Maximum e-mails to one owner per day. An endpoint that is repeatedly disabled and enabled must not fill a mailbox. */
const MAX_DISABLED_MAILS = { limit: 10, windowMs: 86_400_000 };

/** Reads several endpoints of an owner. $1 ids, $2 owner. */
const READ_ENDPOINTS = `
  select ${ENDPOINT_COLUMNS.join(', ')} from webhook_endpoints where id = any($1) and owner_id = $2 and removed_at is null order by id`;

/**
 * Creates the composer of the e-mail about disabled endpoints. It composes no e-mail if the endpoints were enabled or deleted meanwhile,
 * or if their owner is not active.
 */
export function createEndpointDisabledComposer(
  host: Pick<Host, 'database' | 'limits' | 'settings' | 'env' | 'mailTexts'>,
  users: ResourceGateway,
): MailComposer {
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const limiter = enabled ? host.limits.limiter('webhook mails', MAX_DISABLED_MAILS) : undefined;
  return async ({ data, attempt }) => {
    // E-mails that an earlier version stored have `webhook` instead.
    const {
      webhook,
      webhooks: ids = [webhook],
      owner,
    } = data as { webhook?: string; webhooks?: string[]; owner: string };
    const [rows, [user]] = await Promise.all([
      host.database.read<EndpointRow>({ name: 'webhook_read_some', text: READ_ENDPOINTS, values: [ids, owner] }),
      users.load([owner]),
    ]);
    const disabled = rows.map(serializeEndpoint).filter((one) => !one.enabled);
    const [first] = disabled;
    if (first === undefined || typeof user?.email !== 'string' || !isAccountActive(user)) return undefined;
    if (attempt === 1 && limiter !== undefined && !(await limiter.consume(owner)).allowed) return undefined;
    const appHost = appHostOf(host.env);
    const locale = localeOfUser(user, data.locale);
    const content =
      first.disabledReason === 'password_reset'
        ? await host.mailTexts.render('webhooks-revoked', { webhooks: disabled, appHost }, locale)
        : await host.mailTexts.render('webhook-disabled', { webhook: first, appHost }, locale);
    return { ...content, to: user.email };
  };
}

/** The kind of the e-mail about a new endpoint. Its data: `CreatedMail`. */
export const CREATED_MAIL = 'webhook-created';

/** Maximum e-mails to one owner per day. Repeatedly creating and deleting endpoints must not fill a mailbox. */
const MAX_CREATED_MAILS = { limit: 10, windowMs: 86_400_000 };

/** The stored data of the e-mail about a new endpoint, so that an attacker cannot prevent the e-mail by deleting the endpoint at once. */
interface CreatedMail {
  owner: string;
  webhook: Pick<ReturnType<typeof serializeEndpoint>, 'id' | 'events' | 'scope' | 'createdAt'>;
  /** Whether an API key created the endpoint. */
  byKey: boolean;
}

/** Returns the data of the e-mail about an endpoint that this request has created. */
export function createdMailData(row: EndpointRow, { auth }: Pick<RouteContext, 'auth'>): Record<string, unknown> {
  const { id, events, scope, createdAt } = serializeEndpoint(row);
  const data: CreatedMail = {
    owner: row[1],
    webhook: { id, events, scope, createdAt },
    byKey: auth?.via === 'api-key',
  };
  return { ...data };
}

/** Creates the composer of the e-mail about a new endpoint. It composes none if the owner is deleted or inactive when it is sent. */
export function createEndpointCreatedComposer(
  host: Pick<Host, 'limits' | 'settings' | 'env' | 'mailTexts'>,
  users: ResourceGateway,
): MailComposer {
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const limiter = enabled ? host.limits.limiter('webhook creation mails', MAX_CREATED_MAILS) : undefined;
  return async ({ data, attempt }) => {
    const created = data as unknown as CreatedMail;
    const [user] = await users.load([created.owner]);
    if (typeof user?.email !== 'string' || !isAccountActive(user)) return undefined;
    if (attempt === 1 && limiter !== undefined && !(await limiter.consume(user.id)).allowed) return undefined;
    const about = { webhook: created.webhook, byKey: created.byKey, appHost: appHostOf(host.env) };
    return {
      ...(await host.mailTexts.render('webhook-created', about, localeOfUser(user, data.locale))),
      to: user.email,
    };
  };
}
