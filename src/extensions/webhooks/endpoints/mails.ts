import { isAccountActive } from '../../../declare/actor.ts';
import type { Host, ResourceGateway } from '../../../declare/host.ts';
import type { RouteContext } from '../../../declare/route.ts';
import type { MailContent } from '../../../platform/mail/message.ts';
import type { MailComposer } from '../../../platform/mail/worker.ts';
import { type EndpointRow, serializeEndpoint } from './endpoint.ts';
import { READ_ENDPOINTS } from './endpoints-sql.ts';

/** The kind of the e-mail about disabled endpoints of one owner. Its data: `{ webhooks, owner }`, ids. */
export const DISABLED_MAIL = 'webhook-disabled';

/** Maximum e-mails to one owner per day. An endpoint that is repeatedly disabled and enabled must not fill a mailbox. */
const MAX_DISABLED_MAILS = { limit: 10, windowMs: 86_400_000 };

type Webhook = ReturnType<typeof serializeEndpoint>;

/** Returns ` at app.example.com`, or an empty text without `APP_URL`. */
function formatHostSuffix(appUrl: string | undefined): string {
  return appUrl === undefined ? '' : ` at ${new URL(appUrl).host}`;
}

function describeEndpoint({ id, events, createdAt }: Webhook, place: string): string {
  return `${id}${place}, created on ${createdAt.slice(0, 10)} for ${events.join(', ')}`;
}

/** Composes the e-mail about a disabled endpoint. For the reason given at `composeCreatedMail`, it contains no text of the owner. */
function composeDisabledMail(webhook: Webhook, appUrl: string | undefined): MailContent {
  const { id, disabledReason, consecutiveFailures, lastError } = webhook;
  const why =
    disabledReason === 'gone'
      ? 'Its receiver responded with 410 Gone, which means that it wants no more messages.'
      : disabledReason === 'key_ended'
        ? 'It was created or changed with an API key that was revoked or has expired. Check its URL before you enable it.'
        : `The last ${consecutiveFailures} deliveries failed on every attempt. The last error: ${lastError}.`;
  return {
    subject: 'Your webhook endpoint was disabled',
    text: [
      `Your webhook endpoint ${describeEndpoint(webhook, formatHostSuffix(appUrl))}, was disabled.`,
      why,
      `Nothing more is sent to it. When its receiver works again, enable it: PATCH /api/webhooks/${id} with { "enabled": true }. Changes until then are not sent later.`,
    ].join('\n\n'),
  };
}

/** Composes the e-mail about endpoints that were disabled together because their owner's credentials were revoked. */
function composeRevokedMail(webhooks: readonly Webhook[], appUrl: string | undefined): MailContent {
  const place = formatHostSuffix(appUrl);
  const [what, them, urls] =
    webhooks.length === 1 ? ['endpoint was', 'it', 'its URL'] : ['endpoints were', 'them', 'their URLs'];
  return {
    subject: `Your webhook ${what} disabled`,
    text: [
      `The password of your account${place} was reset or changed, or you signed out everywhere. Therefore your webhook ${what} disabled:`,
      webhooks.map((webhook) => `- ${describeEndpoint(webhook, '')}`).join('\n'),
      `Anyone who was signed in to your account before may have created ${them}, or changed ${urls}. Nothing is sent until you enable ${them}. Changes that happen before that are not sent later.`,
      'Check the URL of each: GET /api/webhooks. To enable one that is yours: PATCH /api/webhooks/<id> with { "enabled": true }. To delete one that is not: DELETE /api/webhooks/<id>.',
    ].join('\n\n'),
  };
}

/**
 * Creates the composer of the e-mail about disabled endpoints. It composes no e-mail if the endpoints were enabled or deleted meanwhile,
 * or if their owner is not active.
 */
export function createEndpointDisabledComposer(
  host: Pick<Host, 'database' | 'limits' | 'settings' | 'env'>,
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
    const { appUrl } = host.env;
    const content =
      first.disabledReason === 'password_reset'
        ? composeRevokedMail(disabled, appUrl)
        : composeDisabledMail(first, appUrl);
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
export function createdMailDataOf(row: EndpointRow, { auth }: Pick<RouteContext, 'auth'>): Record<string, unknown> {
  const { id, events, scope, createdAt } = serializeEndpoint(row);
  const data: CreatedMail = {
    owner: row[1],
    webhook: { id, events, scope, createdAt },
    byKey: auth?.via === 'api-key',
  };
  return { ...data };
}

/**
 * Composes the e-mail about a new endpoint. It contains neither the URL nor any other text that the owner chose: an attacker who registers
 * with another person's address could otherwise send that person a message.
 */
function composeCreatedMail({ webhook, byKey }: CreatedMail, appUrl: string | undefined): MailContent {
  const { id, events, scope, createdAt } = webhook;
  const reach = scope === 'global' ? 'every record of these events' : 'the records of these events that you may read';
  const remedy = byKey
    ? 'If it was not you, delete it and revoke the API key that created it'
    : 'If it was not you, delete it and change your password';
  return {
    subject: 'A webhook endpoint was created in your account',
    text: [
      `The webhook endpoint ${id} was created in your account${formatHostSuffix(appUrl)} on ${createdAt.slice(0, 10)}, ${byKey ? 'with one of your API keys' : 'by a signed-in session'}. It receives ${events.join(', ')}: ${reach}.`,
      `If it was you, do nothing. To see where it sends: GET /api/webhooks/${id}.`,
      `${remedy}: DELETE /api/webhooks/${id}. A new password disables all your webhook endpoints.`,
    ].join('\n\n'),
  };
}

/** Creates the composer of the e-mail about a new endpoint. It composes none if the owner is deleted or inactive when it is sent. */
export function createEndpointCreatedComposer(
  host: Pick<Host, 'limits' | 'settings' | 'env'>,
  users: ResourceGateway,
): MailComposer {
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const limiter = enabled ? host.limits.limiter('webhook creation mails', MAX_CREATED_MAILS) : undefined;
  return async ({ data, attempt }) => {
    const created = data as unknown as CreatedMail;
    const [user] = await users.load([created.owner]);
    if (typeof user?.email !== 'string' || !isAccountActive(user)) return undefined;
    if (attempt === 1 && limiter !== undefined && !(await limiter.consume(user.id)).allowed) return undefined;
    return { ...composeCreatedMail(created, host.env.appUrl), to: user.email };
  };
}
