import { isActive } from '../../declare/actor.ts';
import type { Host, ResourceGateway } from '../../declare/host.ts';
import type { RouteContext } from '../../declare/route.ts';
import type { MailContent } from '../../platform/mail/message.ts';
import type { MailComposer } from '../../platform/mail/worker.ts';
import { placeOf } from './disabled-mail.ts';
import { type EndpointRow, showEndpoint } from './endpoint.ts';

/** The kind of the e-mail about a new endpoint. Its data: `CreatedMail`. */
export const CREATED_MAIL = 'webhook-created';

/** The most e-mails to one owner in a day: creating and deleting endpoints in turn must not fill a mailbox. */
const MOST = { limit: 10, windowMs: 86_400_000 };

/** Stored with the e-mail, so that an attacker who deletes the endpoint at once does not stop it. */
interface CreatedMail {
  owner: string;
  webhook: Pick<ReturnType<typeof showEndpoint>, 'id' | 'events' | 'scope' | 'createdAt'>;
  /** Whether an API key created it. */
  byKey: boolean;
}

/** The data of the e-mail about an endpoint that this request has created. */
export function createdMailOf(row: EndpointRow, { auth }: Pick<RouteContext, 'auth'>): Record<string, unknown> {
  const { id, events, scope, createdAt } = showEndpoint(row);
  const data: CreatedMail = {
    owner: row[1],
    webhook: { id, events, scope, createdAt },
    byKey: auth?.via === 'api-key',
  };
  return { ...data };
}

/**
 * The text of the e-mail. It contains neither the URL nor any other text that the owner chose: an attacker who registers with another
 * person's address could otherwise send that person a message.
 */
function contentOf({ webhook, byKey }: CreatedMail, appUrl: string | undefined): MailContent {
  const { id, events, scope, createdAt } = webhook;
  const reach = scope === 'global' ? 'every record of these events' : 'the records of these events that you may read';
  const remedy = byKey
    ? 'If it was not you, delete it and revoke the API key that created it'
    : 'If it was not you, delete it and change your password';
  return {
    subject: 'A webhook endpoint was created in your account',
    text: [
      `The webhook endpoint ${id} was created in your account${placeOf(appUrl)} on ${createdAt.slice(0, 10)}, ${byKey ? 'with one of your API keys' : 'by a signed-in session'}. It receives ${events.join(', ')}: ${reach}.`,
      `If it was you, do nothing. To see where it sends: GET /api/webhooks/${id}.`,
      `${remedy}: DELETE /api/webhooks/${id}. A new password disables all your webhook endpoints.`,
    ].join('\n\n'),
  };
}

/** Composes the e-mail when it is sent. None is sent when the owner is deleted or not active by then. */
export function createCreatedComposer(
  host: Pick<Host, 'limits' | 'settings' | 'env'>,
  users: ResourceGateway,
): MailComposer {
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const limiter = enabled ? host.limits.limiter('webhook creation mails', MOST) : undefined;
  return async ({ data, attempt }) => {
    const created = data as unknown as CreatedMail;
    const [user] = await users.load([created.owner]);
    if (typeof user?.email !== 'string' || !isActive(user)) return undefined;
    if (attempt === 1 && limiter !== undefined && !(await limiter.consume(user.id)).allowed) return undefined;
    return { ...contentOf(created, host.env.appUrl), to: user.email };
  };
}
