import type { Translations } from '../catalogue.ts';

/** Why an endpoint did or did not get an event. */
export const webhookExplanations: Translations = {
  // For the owner.
  'A delivery of this event to this endpoint exists.': 'Es gibt eine Zustellung dieses Ereignisses an diesen Endpunkt.',
  'The endpoint was created after the event.': 'Der Endpunkt wurde nach dem Ereignis angelegt.',
  'The endpoint was created after the event. A backfill can send it.':
    'Der Endpunkt wurde nach dem Ereignis angelegt. Eine Nachlieferung kann es senden.',
  'The endpoint does not currently subscribe to this event.':
    'Der Endpunkt hat dieses Ereignis derzeit nicht abonniert.',
  'The event does not meet the current filter of the endpoint.':
    'Das Ereignis erfüllt den derzeitigen Filter des Endpunkts nicht.',
  'The endpoint is currently disabled.': 'Der Endpunkt ist derzeit deaktiviert.',
  'You cannot currently receive this event: you may not read its data, or its record no longer exists.':
    'Sie können dieses Ereignis derzeit nicht erhalten: Sie dürfen seine Daten nicht lesen, oder seinen Datensatz gibt es nicht mehr.',
  'The event is waiting to be delivered.': 'Das Ereignis wartet auf seine Zustellung.',
  'The event is older than the retention period.': 'Das Ereignis ist älter als die Aufbewahrungsfrist.',
  'You would receive this event now, but the endpoint or your access was different when it happened.':
    'Jetzt würden Sie dieses Ereignis erhalten, aber der Endpunkt oder Ihr Zugriff war anders, als es geschah.',

  // The names of rules, for administrators.
  'Sent events': 'Gesendete Ereignisse',
  Age: 'Alter',
  Subscription: 'Abonnement',
  Owner: 'Besitzer',
  'API key': 'API-Schlüssel',
  'Key scopes': 'Scopes des Schlüssels',
  'Scope filter': 'Scope-Filter',
  'Read policy': 'Lese-Policy',
  'Global endpoints': 'Globale Endpunkte',
  Receiver: 'Empfänger',
  Filter: 'Filter',

  // Their results.
  '{event} is sent to webhooks': '{event} wird an Webhooks gesendet',
  '{event} is no event that is sent to webhooks': '{event} ist kein Ereignis, das an Webhooks gesendet wird',
  'The endpoint is older than the event': 'Der Endpunkt ist älter als das Ereignis',
  'The endpoint was created after the event': 'Der Endpunkt wurde nach dem Ereignis angelegt',
  'The endpoint was created after the event; a backfill can send it':
    'Der Endpunkt wurde nach dem Ereignis angelegt; eine Nachlieferung kann es senden',
  'The event is older than the endpoint; a backfill sent it':
    'Das Ereignis ist älter als der Endpunkt; eine Nachlieferung hat es gesendet',
  'The endpoint subscribes to {event}': 'Der Endpunkt hat {event} abonniert',
  'The endpoint does not subscribe to {event}, only to {events}':
    'Der Endpunkt hat {event} nicht abonniert, nur {events}',
  'The endpoint is enabled': 'Der Endpunkt ist aktiv',
  'The endpoint is disabled: {reason:text}': 'Der Endpunkt ist deaktiviert: {reason}',
  'its receiver wants no more messages (410, or webhook-delivery: disable)':
    'sein Empfänger möchte keine Nachrichten mehr (410 oder webhook-delivery: disable)',
  'too many deliveries in a row failed': 'zu viele Zustellungen in Folge sind fehlgeschlagen',
  'a user disabled it': 'ein Benutzer hat ihn deaktiviert',
  'its owner got a new password': 'sein Besitzer hat ein neues Passwort erhalten',
  'its API key was revoked or has expired': 'sein API-Schlüssel wurde widerrufen oder ist abgelaufen',
  'no reason is stored': 'kein Grund ist gespeichert',
  'The account of the owner is active': 'Das Konto des Besitzers ist aktiv',
  'The account of the owner is not active': 'Das Konto des Besitzers ist nicht aktiv',
  'The scopes of its API key include {event}': 'Die Scopes seines API-Schlüssels schließen {event} ein',
  'The scopes of its API key do not include {event}: {scopes:list}':
    'Die Scopes seines API-Schlüssels schließen {event} nicht ein: {scopes}',
  'The API key of the endpoint is valid': 'Der API-Schlüssel des Endpunkts ist gültig',
  'The API key of the endpoint was revoked or has expired':
    'Der API-Schlüssel des Endpunkts wurde widerrufen oder ist abgelaufen',
  'The rule threw an error, which is in the log; so the event is not sent':
    'Die Regel hat einen Fehler ausgelöst, der im Log steht; darum wird das Ereignis nicht gesendet',
  'The record does not exist or is not known, so access to it cannot be checked':
    'Den Datensatz gibt es nicht, oder er ist nicht bekannt, darum lässt sich der Zugriff nicht prüfen',
  '{resource} has no scope filter': '{resource} hat keinen Scope-Filter',
  'The scope filter includes the record': 'Der Scope-Filter schließt den Datensatz ein',
  'The scope filter of {resource} hides the record from the owner':
    'Der Scope-Filter von {resource} verbirgt den Datensatz vor dem Besitzer',
  'policies.read of {resource}: {policy}': 'policies.read von {resource}: {policy}',
  'The owner may read the record ({policy:text})': 'Der Besitzer darf den Datensatz lesen ({policy})',
  'The owner may not read the record ({policy:text})': 'Der Besitzer darf den Datensatz nicht lesen ({policy})',
  'The owner may have endpoints of scope "global"': 'Der Besitzer darf Endpunkte mit dem Scope „global“ haben',
  'The owner may no longer have endpoints of scope "global" (globalPolicy)':
    'Der Besitzer darf keine Endpunkte mit dem Scope „global“ mehr haben (globalPolicy)',
  'The event was published for this owner': 'Das Ereignis wurde für diesen Besitzer veröffentlicht',
  'The event was published for another user': 'Das Ereignis wurde für einen anderen Benutzer veröffentlicht',
  'The record meets the filter of the endpoint': 'Der Datensatz erfüllt den Filter des Endpunkts',
  'The event does not meet "{condition}" of the filter for {event}':
    'Das Ereignis erfüllt „{condition}“ des Filters für {event} nicht',
  'The condition "{condition}" of the filter for {event} cannot be used: {error:text}':
    'Die Bedingung „{condition}“ des Filters für {event} ist nicht verwendbar: {error}',
  'The record is not known, so the filter cannot be evaluated':
    'Der Datensatz ist nicht bekannt, darum lässt sich der Filter nicht prüfen',
  'Which fields the update changed is not known': 'Welche Felder die Änderung betraf, ist nicht bekannt',

  // The verdict.
  '1 attempt': '1 Versuch',
  '{count:number} attempts': '{count} Versuchen',
  'It was delivered, after {tried:text}': 'Es wurde zugestellt, nach {tried}',
  'It was tried, and failed after {tried:text}: {error:text}':
    'Es wurde versucht und ist nach {tried} fehlgeschlagen: {error}',
  'It waits to be sent, after {tried:text}': 'Es wartet auf die Zustellung, nach {tried}',
  'It waits to be sent, after {tried:text}; the last one failed: {error:text}':
    'Es wartet auf die Zustellung, nach {tried}; der letzte ist fehlgeschlagen: {error}',
  'The last delivery of this record: {state:text}': 'Die letzte Zustellung dieses Datensatzes: {state}',
  'The event waits for the relay, which will create a delivery':
    'Das Ereignis wartet auf das Relay, das eine Zustellung anlegen wird',
  'No rule prevents a delivery now, but no delivery for this record is stored':
    'Jetzt verhindert keine Regel eine Zustellung, aber für diesen Datensatz ist keine gespeichert',
  'The endpoint would get the event now, but a rule was different when the event happened':
    'Jetzt würde der Endpunkt das Ereignis erhalten, aber eine Regel war anders, als das Ereignis geschah',
  'The event is older than {days:number} days (keepDeliveriesDays), so nothing is stored about it':
    'Das Ereignis ist älter als {days} Tage (keepDeliveriesDays), darum ist nichts darüber gespeichert',
};
