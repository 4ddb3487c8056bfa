import type { MailContent, MailTemplate } from '../message.ts';
import { layOutMail, type MailBlock } from './layout.ts';
import type { AccountMailKind, MailKind, MailVariables, MailWebhook } from './variables.ts';

const layOut = (subject: string, blocks: readonly MailBlock[]): MailContent => layOutMail('en', subject, blocks);

const at = (appHost: string | undefined) => (appHost === undefined ? '' : ` at ${appHost}`);

function describeWebhook({ id, events, createdAt, organisation }: MailWebhook, place: string): string {
  const owner = organisation === undefined ? '' : ` of the organisation ${organisation}`;
  return `${id}${owner}${place}, created on ${createdAt.slice(0, 10)} for ${events.join(', ')}`;
}

function composeDisabled({ webhook, appHost }: MailVariables['webhook-disabled']): MailContent {
  const { id, disabledReason, consecutiveFailures, lastError } = webhook;
  const why =
    disabledReason === 'gone'
      ? 'Its receiver responded with 410 Gone or webhook-delivery: disable, which means that it wants no more messages.'
      : disabledReason === 'key_ended'
        ? 'It was created or changed with an API key that was revoked or has expired. Check its URL before you enable it.'
        : `The last ${consecutiveFailures} deliveries failed on every attempt. The last error: ${lastError}.`;
  return layOut('Your webhook endpoint was disabled', [
    `Your webhook endpoint ${describeWebhook(webhook, at(appHost))}, was disabled.`,
    why,
    `Nothing more is sent to it. When its receiver works again, enable it: PATCH /api/webhooks/${id} with { "enabled": true }. Changes until then are not sent later.`,
  ]);
}

function composeFailing(variables: MailVariables['webhook-failing']): MailContent {
  const { webhook, consecutiveFailures, failuresLeft, event, lastError, appHost } = variables;
  const failed = consecutiveFailures === 1 ? 'The last delivery' : `The last ${consecutiveFailures} deliveries`;
  const more = failuresLeft === 1 ? 'one more failed delivery' : `${failuresLeft} more failed deliveries in a row`;
  return layOut('Your webhook endpoint fails', [
    `Your webhook endpoint ${describeWebhook(webhook, at(appHost))}, fails. ${failed} failed on every attempt.`,
    `The event of the last one: ${event}. The error: ${lastError}.`,
    `After ${more}, the endpoint will be disabled, and nothing more is sent to it. To see the responses of its receiver: GET /api/webhooks/${webhook.id}/deliveries?status=failed.`,
  ]);
}

function composeRecovered({ webhook, appHost }: MailVariables['webhook-recovered']): MailContent {
  return layOut('Your webhook endpoint works again', [
    `Your webhook endpoint ${describeWebhook(webhook, at(appHost))}, works again: a delivery has succeeded.`,
    `Deliveries that failed on every attempt are not sent again by themselves. To send them again: POST /api/webhooks/${webhook.id}/recover with { "since": "<date>" }.`,
  ]);
}

function composeRevoked({ webhooks, appHost }: MailVariables['webhooks-revoked']): MailContent {
  const [what, them, urls] =
    webhooks.length === 1 ? ['endpoint was', 'it', 'its URL'] : ['endpoints were', 'them', 'their URLs'];
  return layOut(`Your webhook ${what} disabled`, [
    `The password of your account${at(appHost)} was reset or changed, or you signed out everywhere. Therefore your webhook ${what} disabled:`,
    { list: webhooks.map((webhook) => describeWebhook(webhook, '')) },
    `Anyone who was signed in to your account before may have created ${them}, or changed ${urls}. Nothing is sent until you enable ${them}. Changes that happen before that are not sent later.`,
    'Check the URL of each: GET /api/webhooks. To enable one that is yours: PATCH /api/webhooks/<id> with { "enabled": true }. To delete one that is not: DELETE /api/webhooks/<id>.',
  ]);
}

function composeCreated({ webhook, byKey, appHost }: MailVariables['webhook-created']): MailContent {
  const { id, events, scope, createdAt, organisation } = webhook;
  if (organisation !== undefined)
    return layOut(`A webhook endpoint was created in the organisation ${organisation}`, [
      `The webhook endpoint ${id} was created in the organisation ${organisation}${at(appHost)} on ${createdAt.slice(0, 10)}. It receives ${events.join(', ')}: the records of the organisation.`,
      `You get this e-mail because you manage the webhooks of this organisation. To see where it sends: GET /api/webhooks/${id}.`,
      `If nobody of the organisation meant it, delete it: DELETE /api/webhooks/${id}. A new password of the member who created it does not disable it.`,
    ]);
  const reach = scope === 'global' ? 'every record of these events' : 'the records of these events that you may read';
  const remedy = byKey
    ? 'If it was not you, delete it and revoke the API key that created it'
    : 'If it was not you, delete it and change your password';
  return layOut('A webhook endpoint was created in your account', [
    `The webhook endpoint ${id} was created in your account${at(appHost)} on ${createdAt.slice(0, 10)}, ${byKey ? 'with one of your API keys' : 'by a signed-in session'}. It receives ${events.join(', ')}: ${reach}.`,
    `If it was you, do nothing. To see where it sends: GET /api/webhooks/${id}.`,
    `${remedy}: DELETE /api/webhooks/${id}. A new password disables all your webhook endpoints.`,
  ]);
}

function composeExport({ link, appHost, expiresAt, userId }: MailVariables['data-export']): MailContent {
  const what = userId === undefined ? 'your personal data' : `the personal data of the user ${userId}`;
  const warning = 'If you did not request it, change your password: someone else may be signed in as you.';
  return layOut(userId === undefined ? 'Your data is ready' : 'The data of a user is ready', [
    `The export of ${what} at ${appHost} is ready.`,
    `Anyone with this link can download it until ${expiresAt.slice(0, 16).replace('T', ' ')} UTC:`,
    { link, label: 'Download the data' },
    ...(userId === undefined ? [warning] : []),
  ]);
}

function composeErased({ kept, appHost }: MailVariables['account-erased']): MailContent {
  const lines = kept.map(({ name, why }) => `${name}: ${why}`);
  return layOut('Your account was erased', [
    `Your account${at(appHost)} and its data were erased. This cannot be undone, and no one can sign in to it anymore.`,
    ...(lines.length === 0 ? [] : ['Data that is kept, and why:', { list: lines }]),
    'Your e-mail address is deleted once this message is sent.',
  ]);
}

/** The e-mails of webhooks and of privacy. They contain neither the URL of an endpoint nor any other text that the owner chose. */
export const NOTICE_TEXTS: {
  readonly [K in Exclude<MailKind, AccountMailKind>]: MailTemplate<MailVariables[K]>;
} = {
  'webhook-created': composeCreated,
  'webhook-disabled': composeDisabled,
  'webhook-failing': composeFailing,
  'webhook-recovered': composeRecovered,
  'webhooks-revoked': composeRevoked,
  'data-export': composeExport,
  'account-erased': composeErased,
};
