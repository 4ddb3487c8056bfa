import { toGerman } from '../../languages/de/index.ts';
import type { MailContent, MailTemplate } from '../message.ts';
import { atHost, dayOf, layOut, timeOf } from './german.ts';
import type { AccountMailKind, MailKind, MailVariables, MailWebhook } from './variables.ts';

function describeWebhook({ id, events, createdAt, organisation }: MailWebhook, place: string): string {
  const owner = organisation === undefined ? '' : ` der Organisation ${organisation}`;
  return `${id}${owner}${place}, erstellt am ${dayOf(createdAt)} für ${events.join(', ')}`;
}

function composeDisabled({ webhook, appHost }: MailVariables['webhook-disabled']): MailContent {
  const { id, disabledReason, consecutiveFailures, lastError } = webhook;
  const why =
    disabledReason === 'gone'
      ? 'Der Empfänger hat mit 410 Gone oder webhook-delivery: disable geantwortet: Er möchte keine weiteren Nachrichten.'
      : disabledReason === 'key_ended'
        ? 'Er wurde mit einem API-Schlüssel erstellt oder geändert, der widerrufen wurde oder abgelaufen ist. Prüfen Sie seine URL, bevor Sie ihn aktivieren.'
        : `Die letzten ${consecutiveFailures} Zustellungen sind bei jedem Versuch gescheitert. Der letzte Fehler: ${toGerman(lastError ?? '')}.`;
  return layOut('Ihr Webhook-Endpunkt wurde deaktiviert', [
    `Ihr Webhook-Endpunkt ${describeWebhook(webhook, atHost(appHost))}, wurde deaktiviert.`,
    why,
    `Es wird nichts mehr an ihn gesendet. Wenn sein Empfänger wieder arbeitet, aktivieren Sie ihn: PATCH /api/webhooks/${id} mit { "enabled": true }. Änderungen bis dahin werden nicht nachgeliefert.`,
  ]);
}

function composeFailing(variables: MailVariables['webhook-failing']): MailContent {
  const { webhook, consecutiveFailures, failuresLeft, event, lastError, appHost } = variables;
  const failed =
    consecutiveFailures === 1 ? 'Die letzte Zustellung ist' : `Die letzten ${consecutiveFailures} Zustellungen sind`;
  const more =
    failuresLeft === 1
      ? 'Scheitert noch eine Zustellung, wird er deaktiviert'
      : `Scheitern noch ${failuresLeft} Zustellungen in Folge, wird er deaktiviert`;
  return layOut('Ihr Webhook-Endpunkt ist gestört', [
    `Ihr Webhook-Endpunkt ${describeWebhook(webhook, atHost(appHost))}, ist gestört. ${failed} bei jedem Versuch gescheitert.`,
    `Das Ereignis der letzten: ${event}. Der Fehler: ${toGerman(lastError ?? '')}.`,
    `${more}, und es wird nichts mehr an ihn gesendet. Die Antworten seines Empfängers sehen Sie mit GET /api/webhooks/${webhook.id}/deliveries?status=failed.`,
  ]);
}

function composeRecovered({ webhook, appHost }: MailVariables['webhook-recovered']): MailContent {
  return layOut('Ihr Webhook-Endpunkt arbeitet wieder', [
    `Ihr Webhook-Endpunkt ${describeWebhook(webhook, atHost(appHost))}, arbeitet wieder: Eine Zustellung ist gelungen.`,
    `Zustellungen, die bei jedem Versuch gescheitert sind, werden nicht von selbst wiederholt. Um sie erneut zu senden: POST /api/webhooks/${webhook.id}/recover mit { "since": "<Datum>" }.`,
  ]);
}

function composeRevoked({ webhooks, appHost }: MailVariables['webhooks-revoked']): MailContent {
  const isOne = webhooks.length === 1;
  const list = { list: webhooks.map((webhook) => describeWebhook(webhook, '')) };
  const reason = `Das Passwort Ihres Kontos${atHost(appHost)} wurde zurückgesetzt oder geändert, oder Sie haben sich überall abgemeldet.`;
  const check =
    'Prüfen Sie jede URL: GET /api/webhooks. Um einen eigenen Endpunkt zu aktivieren: PATCH /api/webhooks/<id> mit { "enabled": true }. Um einen fremden zu löschen: DELETE /api/webhooks/<id>.';
  if (isOne)
    return layOut('Ihr Webhook-Endpunkt wurde deaktiviert', [
      `${reason} Deshalb wurde Ihr Webhook-Endpunkt deaktiviert:`,
      list,
      'Wer vorher in Ihrem Konto angemeldet war, könnte ihn erstellt oder seine URL geändert haben. Es wird nichts gesendet, bis Sie ihn aktivieren. Änderungen bis dahin werden nicht nachgeliefert.',
      check,
    ]);
  return layOut('Ihre Webhook-Endpunkte wurden deaktiviert', [
    `${reason} Deshalb wurden Ihre Webhook-Endpunkte deaktiviert:`,
    list,
    'Wer vorher in Ihrem Konto angemeldet war, könnte sie erstellt oder ihre URLs geändert haben. Es wird nichts gesendet, bis Sie sie aktivieren. Änderungen bis dahin werden nicht nachgeliefert.',
    check,
  ]);
}

function composeCreated({ webhook, byKey, appHost }: MailVariables['webhook-created']): MailContent {
  const { id, events, scope, createdAt, organisation } = webhook;
  if (organisation !== undefined)
    return layOut(`In der Organisation ${organisation} wurde ein Webhook-Endpunkt erstellt`, [
      `In der Organisation ${organisation}${atHost(appHost)} wurde am ${dayOf(createdAt)} der Webhook-Endpunkt ${id} erstellt. Er empfängt ${events.join(', ')}: die Datensätze der Organisation.`,
      `Sie erhalten diese E-Mail, weil Sie die Webhooks dieser Organisation verwalten. Wohin er sendet, sehen Sie mit GET /api/webhooks/${id}.`,
      `Wenn niemand aus der Organisation das wollte, löschen Sie ihn: DELETE /api/webhooks/${id}. Ein neues Passwort des Mitglieds, das ihn erstellt hat, deaktiviert ihn nicht.`,
    ]);
  const reach =
    scope === 'global' ? 'jeder Datensatz dieser Ereignisse' : 'die Datensätze dieser Ereignisse, die Sie lesen dürfen';
  const remedy = byKey
    ? 'Wenn Sie das nicht waren, löschen Sie ihn und widerrufen Sie den API-Schlüssel, mit dem er erstellt wurde'
    : 'Wenn Sie das nicht waren, löschen Sie ihn und ändern Sie Ihr Passwort';
  return layOut('In Ihrem Konto wurde ein Webhook-Endpunkt erstellt', [
    `In Ihrem Konto${atHost(appHost)} wurde am ${dayOf(createdAt)} ${byKey ? 'mit einem Ihrer API-Schlüssel' : 'in einer angemeldeten Sitzung'} der Webhook-Endpunkt ${id} erstellt. Er empfängt ${events.join(', ')}: ${reach}.`,
    `Wenn Sie das waren, müssen Sie nichts tun. Wohin er sendet, sehen Sie mit GET /api/webhooks/${id}.`,
    `${remedy}: DELETE /api/webhooks/${id}. Ein neues Passwort deaktiviert alle Ihre Webhook-Endpunkte.`,
  ]);
}

function composeExport({ link, appHost, expiresAt, userId }: MailVariables['data-export']): MailContent {
  const what = userId === undefined ? 'Ihrer persönlichen Daten' : `der persönlichen Daten des Benutzers ${userId}`;
  const warning =
    'Wenn Sie ihn nicht angefordert haben, ändern Sie Ihr Passwort: Möglicherweise ist jemand in Ihrem Namen angemeldet.';
  return layOut(userId === undefined ? 'Ihre Daten stehen bereit' : 'Die Daten eines Benutzers stehen bereit', [
    `Der Export ${what} bei ${appHost} steht bereit.`,
    `Wer diesen Link hat, kann ihn bis ${timeOf(expiresAt)} herunterladen:`,
    { link, label: 'Daten herunterladen' },
    ...(userId === undefined ? [warning] : []),
  ]);
}

function composeErased({ kept, appHost }: MailVariables['account-erased']): MailContent {
  const lines = kept.map(({ name, why }) => `${name}: ${why}`);
  return layOut('Ihr Konto wurde gelöscht', [
    `Ihr Konto${atHost(appHost)} und seine Daten wurden gelöscht. Das lässt sich nicht rückgängig machen, und niemand kann sich mehr damit anmelden.`,
    ...(lines.length === 0 ? [] : ['Daten, die aufbewahrt werden, und der Grund:', { list: lines }]),
    'Ihre E-Mail-Adresse wird gelöscht, sobald diese Nachricht gesendet ist.',
  ]);
}

/** The e-mails of webhooks and of privacy in German. As in English, they contain no text that the owner of an endpoint chose. */
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
