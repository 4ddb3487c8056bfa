import type { Host, ResourceView } from '../../declare/host.ts';
import { isActive } from '../../declare/viewer.ts';
import type { MailContent } from '../../platform/mail/message.ts';
import type { MailComposer } from '../../platform/mail/worker.ts';
import { type EndpointRow, showEndpoint } from './endpoint.ts';
import { READ } from './sql/endpoints.ts';

/** The kind of the e-mail that tells an owner of a disabled endpoint. Its data: `{ webhook, owner }`, ids. */
export const DISABLED_MAIL = 'webhook-disabled';

/** E-mails to one owner: who has an endpoint disabled and enables it again must not fill a box with them. */
const MOST = { limit: 10, windowMs: 86_400_000 };

/**
 * What the e-mail says. The URL is not in it, nor anything else that the owner wrote: whoever registers with somebody else's address
 * could have such an e-mail sent there, with words of his choice.
 */
function contentOf(webhook: ReturnType<typeof showEndpoint>, appUrl: string | undefined): MailContent {
  const { id, events, createdAt, disabledReason, consecutiveFailures, lastError } = webhook;
  const place = appUrl === undefined ? '' : ` at ${new URL(appUrl).host}`;
  const why =
    disabledReason === 'gone'
      ? 'Its receiver answered 410 Gone: it wants no more messages.'
      : `The last ${consecutiveFailures} deliveries failed on every attempt. The last error: ${lastError}.`;
  return {
    subject: 'Your webhook endpoint was disabled',
    text: [
      `Your webhook endpoint ${id}${place}, created on ${createdAt.slice(0, 10)} for ${events.join(', ')}, was disabled.`,
      why,
      `Nothing is sent to it any more. When its receiver works again, enable it: PATCH /api/webhooks/${id} with { "enabled": true }. Changes until then are not sent later.`,
    ].join('\n\n'),
  };
}

/** Makes the e-mail when it is sent. There is none when the endpoint was enabled or removed meanwhile, or its owner is disabled. */
export function createDisabledComposer(
  host: Pick<Host, 'database' | 'limits' | 'settings' | 'env'>,
  users: ResourceView,
): MailComposer {
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const limiter = enabled ? host.limits.limiter('webhook mails', MOST) : undefined;
  return async ({ data, attempt }) => {
    const { webhook: id, owner } = data as { webhook: string; owner: string };
    const [[row], [user]] = await Promise.all([
      host.database.read<EndpointRow>({ name: 'webhook_read', text: READ, values: [id, owner] }),
      users.load([owner]),
    ]);
    if (row === undefined || typeof user?.email !== 'string' || !isActive(user)) return undefined;
    const webhook = showEndpoint(row);
    if (webhook.enabled) return undefined;
    if (attempt === 1 && limiter !== undefined && !(await limiter.consume(owner)).allowed) return undefined;
    return { ...contentOf(webhook, host.env.appUrl), to: user.email };
  };
}
