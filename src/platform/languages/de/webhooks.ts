import type { Translations } from '../catalogue.ts';

/** Webhooks, and streams of changes. */
export const webhookMessages: Translations = {
  // Endpoints.
  'You can have at most {max} webhooks': 'Sie können höchstens {max} Webhooks haben',
  'The webhook is disabled; enable it first': 'Der Webhook ist deaktiviert; aktivieren Sie ihn zuerst',
  'You are not allowed to have a webhook of scope "global"': 'Sie dürfen keinen Webhook mit dem Scope „global“ haben',
  'An organisation can have at most {max} webhooks': 'Eine Organisation kann höchstens {max} Webhooks haben',
  'This needs the role "{role}" in the organisation': 'Dazu ist in der Organisation die Rolle „{role}“ nötig',
  'Must be left out for the webhook of a user; send the header X-Organisation for one of an organisation':
    'Muss beim Webhook eines Benutzers fehlen; senden Sie für den einer Organisation den Header X-Organisation',
  'Must be events of records of organisations, which these are not: {names}':
    'Müssen Ereignisse von Datensätzen von Organisationen sein; diese sind es nicht: {names}',
  'Must be "own": the webhook of an organisation receives only its records':
    'Muss „own“ sein: Der Webhook einer Organisation erhält nur deren Datensätze',
  'Must be a role in the organisation, such as org:admin': 'Muss eine Rolle in der Organisation sein, etwa org:admin',
  'Must have a public host name': 'Muss einen öffentlichen Hostnamen haben',
  'Must not be a private or reserved address': 'Darf keine private oder reservierte Adresse sein',
  'Must not contain a user name or password': 'Darf keinen Benutzernamen und kein Passwort enthalten',
  'Must not have a percent-encoded host name': 'Darf keinen prozentkodierten Hostnamen haben',
  'Must not have port 0': 'Darf nicht den Port 0 haben',
  'Must start with http:// or https://': 'Muss mit http:// oder https:// beginnen',
  'Must start with https://': 'Muss mit https:// beginnen',
  'Must be { limit, windowSeconds }': 'Muss { limit, windowSeconds } sein',
  'Must be an array of event names': 'Muss ein Array von Namen von Ereignissen sein',
  'Must be the name of an event': 'Muss der Name eines Ereignisses sein',
  'Must be the name of an event, such as post.created': 'Muss der Name eines Ereignisses sein, etwa post.created',
  'Must be an object of header names and values': 'Muss ein Objekt aus Namen und Werten von Headern sein',
  'Must be at most {max} headers': 'Dürfen höchstens {max} Header sein',
  'Must be at most {max:number} characters in all names and values':
    'Darf höchstens {max} Zeichen in allen Namen und Werten haben',
  'Must be given once: names of headers are case-insensitive':
    'Darf nur einmal angegeben werden: Bei Namen von Headern zählt Groß- und Kleinschreibung nicht',
  "Must have a name of letters, digits and the characters !#$%&'*+-.^_`|~":
    "Muss einen Namen aus Buchstaben, Ziffern und den Zeichen !#$%&'*+-.^_`|~ haben",
  'Must have a name of at most {max:number} characters': 'Muss einen Namen mit höchstens {max} Zeichen haben',
  'Is reserved for the sender of webhooks, for proxies or for HTTP itself; choose another name':
    'Ist dem Sender von Webhooks, Proxys oder HTTP selbst vorbehalten; wählen Sie einen anderen Namen',
  'Must contain only visible ASCII characters, spaces and tabs':
    'Darf nur sichtbare ASCII-Zeichen, Leerzeichen und Tabulatoren enthalten',
  'The stored headers cannot be decrypted; send the values of all headers again, or null to remove them':
    'Die gespeicherten Header lassen sich nicht entschlüsseln; senden Sie die Werte aller Header noch einmal, oder null, um sie zu entfernen',
  'Send the values of these headers again, or remove them, because the URL changes to another origin: {names}':
    'Senden Sie die Werte dieser Header noch einmal oder entfernen Sie die Header, weil die URL zu einem anderen Ursprung wechselt: {names}',
  'Unknown events: {names}. Valid events: {valid}': 'Unbekannte Ereignisse: {names}. Gültige Ereignisse: {valid}',
  'There is no event with this name': 'Es gibt kein Ereignis mit diesem Namen',

  // Filters.
  'Must be a list of at least one field': 'Muss eine Liste mit mindestens einem Feld sein',
  'Must be a text, a number or a boolean, as in the query string of a list':
    'Muss ein Text, eine Zahl oder ein Wahrheitswert sein, wie im Query-String einer Liste',
  'Must be an object with at least one condition, such as {example}':
    'Muss ein Objekt mit mindestens einer Bedingung sein, etwa {example}',
  'Must be an object of conditions by event, such as {example}, or null':
    'Muss ein Objekt von Bedingungen nach Ereignis sein, etwa {example}, oder null',
  'Must be at most {max:number} bytes of JSON': 'Darf höchstens {max} Byte JSON sein',
  'Must have at most {max:number} conditions': 'Darf höchstens {max} Bedingungen haben',
  'Must name one resource, such as "{example}"': 'Muss eine Ressource nennen, etwa „{example}“',
  'Must be an event or a pattern, such as "invoice.*"': 'Muss ein Ereignis oder Muster sein, etwa „invoice.*“',
  'Must be an event about a record: the app publishes this event, which has no fields to filter by':
    'Muss ein Ereignis über einen Datensatz sein: Die App veröffentlicht dieses Ereignis; es hat keine Felder zum Filtern',
  'Must stand under "{event}", because only updates change fields':
    'Muss unter „{event}“ stehen, weil nur Änderungen Felder ändern',
  'Must be an event to which the webhook subscribes': 'Muss ein Ereignis sein, das der Webhook abonniert hat',
  'The filter cannot be evaluated now, because a rule of the app threw an error':
    'Der Filter lässt sich jetzt nicht auswerten, weil eine Regel der App einen Fehler ausgelöst hat',
  // Polls.
  'Must be absent: the webhook is polled': 'Muss fehlen: Der Webhook wird abgerufen',
  'The webhook is not polled: its messages are sent to its URL':
    'Der Webhook wird nicht abgerufen: Seine Nachrichten werden an seine URL gesendet',
  'Must be a cursor that this webhook has returned': 'Muss ein Cursor sein, den dieser Webhook geliefert hat',
  'after must be a cursor that this webhook has returned':
    'after muss ein Cursor sein, den dieser Webhook geliefert hat',
  'The owner of the webhook may not receive messages': 'Der Besitzer des Webhooks darf keine Nachrichten erhalten',
  'The API key may not read all data of the next message; poll with another credential':
    'Der API-Schlüssel darf nicht alle Daten der nächsten Nachricht lesen; rufen Sie sie mit einem anderen Zugang ab',
  'You can have at most {max} polls waiting': 'Bei Ihnen können höchstens {max} Abrufe zugleich warten',

  // Keys and links.
  'A link to the portal cannot change apiKeyId; use a session':
    'Ein Link zum Portal kann apiKeyId nicht ändern; verwenden Sie eine Sitzung',
  'A link to the webhook portal needs a session; an API key could exceed its scopes':
    'Ein Link zum Webhook-Portal braucht eine Sitzung; ein API-Schlüssel könnte seine Scopes überschreiten',
  'A link to the webhook portal needs a session; an API key could exceed its scopes. The key of an organisation needs the scope "*"':
    'Ein Link zum Webhook-Portal braucht eine Sitzung; ein API-Schlüssel könnte seine Scopes überschreiten. Der Schlüssel einer Organisation braucht den Scope „*“',
  'A webhook cannot be created or changed with this kind of credential; use a session':
    'Mit dieser Art von Zugang lässt sich kein Webhook anlegen oder ändern; verwenden Sie eine Sitzung',
  'An API key cannot change apiKeyId; use a session':
    'Ein API-Schlüssel kann apiKeyId nicht ändern; verwenden Sie eine Sitzung',
  'Must be within the scopes of the API key that the webhook is bound to ({scopes}); set apiKeyId to null to lift that limit':
    'Muss innerhalb der Scopes des API-Schlüssels liegen, an den der Webhook gebunden ist ({scopes}); setzen Sie apiKeyId auf null, um diese Grenze aufzuheben',
  'The webhook is bound to another API key; use that key or a session':
    'Der Webhook ist an einen anderen API-Schlüssel gebunden; verwenden Sie diesen Schlüssel oder eine Sitzung',
  'The webhook was disabled when credentials ended; use a session to enable it':
    'Der Webhook wurde deaktiviert, als Zugänge endeten; aktivieren Sie ihn mit einer Sitzung',
  'The webhook was disabled when credentials of its owner ended; only the owner can enable it':
    'Der Webhook wurde deaktiviert, als Zugänge seines Besitzers endeten; nur der Besitzer kann ihn aktivieren',
  'This link does not include webhooks of scope "global"':
    'Dieser Link schließt keine Webhooks mit dem Scope „global“ ein',
  'This link is for a single webhook': 'Dieser Link ist für einen einzelnen Webhook',

  // Deliveries.
  'after must be given once': 'after darf nur einmal angegeben werden',
  'after must be the "meta.next" of a page with the same status':
    'after muss das „meta.next“ einer Seite mit demselben Status sein',
  'event must be the id of an event': 'event muss die ID eines Ereignisses sein',
  'event must be the name of an event, such as post.created':
    'event muss der Name eines Ereignisses sein, etwa post.created',
  'A recovery since {time} is running; try again after it has finished':
    'Eine Wiederholung seit {time} läuft; versuchen Sie es erneut, wenn sie beendet ist',
  'Must not be more than {days:number} days ago: deliveries are kept no longer':
    'Darf höchstens {days} Tage zurückliegen: Länger werden Zustellungen nicht aufbewahrt',
  'The backfill {id} is paused; resume or cancel it first':
    'Die Nachlieferung {id} ist pausiert; setzen Sie sie fort oder brechen Sie sie ab',
  'The backfill {id} is running; cancel it, or try again after it has finished':
    'Die Nachlieferung {id} läuft; brechen Sie sie ab, oder versuchen Sie es erneut, wenn sie beendet ist',
  'The backfill has ended': 'Die Nachlieferung ist beendet',
  'The webhook does not subscribe to: {list}': 'Der Webhook abonniert nicht: {list}',
  'Must be after since': 'Muss nach since liegen',
  'Must not be more than {days:number} days ago: events are kept no longer':
    'Darf höchstens {days} Tage zurückliegen: Länger werden Ereignisse nicht aufbewahrt',

  // The console.
  'The account of the owner is not active, so this is not possible':
    'Das Konto des Besitzers ist nicht aktiv, darum ist das nicht möglich',
  'The owner may not have webhooks: the setting "policy" of webhooks() refuses them':
    'Der Besitzer darf keine Webhooks haben: Die Einstellung „policy“ von webhooks() lehnt sie ab',
  'Nothing is stored about this event. Events that matched no endpoint are not stored: ask by record instead':
    'Über dieses Ereignis ist nichts gespeichert. Ereignisse, die zu keinem Endpunkt passten, werden nicht gespeichert: Fragen Sie stattdessen nach dem Datensatz',
  'Give the id of an event, or the id of a record and the name of an event':
    'Geben Sie die ID eines Ereignisses an, oder die ID eines Datensatzes und den Namen eines Ereignisses',
  'The receiver no longer keeps this request': 'Der Empfänger hat diese Anfrage nicht mehr',
  'Must be the name of a receiver': 'Muss der Name eines Empfängers sein',
  'No endpoint leads to this receiver': 'Kein Endpunkt führt zu diesem Empfänger',
  'The receiver accepts requests only from programs on this machine':
    'Der Empfänger nimmt nur Anfragen von Programmen auf diesem Rechner an',
  'webhooks({ allowPrivate: false }) refuses addresses of this machine':
    'webhooks({ allowPrivate: false }) lehnt Adressen dieses Rechners ab',
  'webhooks({ requireHttps: true }) refuses http': 'webhooks({ requireHttps: true }) lehnt http ab',

  // Descriptions of events.
  'A {resource} was created': '{resource} wurde erstellt',
  'A {resource} was updated': '{resource} wurde geändert',
  'A {resource} was deleted': '{resource} wurde gelöscht',
  'A {resource} was restored': '{resource} wurde wiederhergestellt',
  'An {resource} was created': '{resource} wurde erstellt',
  'An {resource} was updated': '{resource} wurde geändert',
  'An {resource} was deleted': '{resource} wurde gelöscht',
  'An {resource} was restored': '{resource} wurde wiederhergestellt',

  // Errors of attempts, as they are stored.
  'status {code:number}': 'Status {code}',
  timeout: 'Zeitüberschreitung',
  redirect: 'Weiterleitung',
  'address not allowed or not found': 'Adresse nicht erlaubt oder nicht gefunden',
  'connection refused': 'Verbindung abgelehnt',
  'host unreachable': 'Host nicht erreichbar',
  'tls certificate not valid': 'TLS-Zertifikat ungültig',
  'tls handshake failed': 'TLS-Handshake fehlgeschlagen',
  'connection closed': 'Verbindung geschlossen',
  'signing secret not readable': 'Secret nicht lesbar',
  'headers not readable': 'Header nicht lesbar',
  'aborted by the receiver': 'vom Empfänger abgebrochen',
  'invalid answer': 'ungültige Antwort',
  'worker lost': 'Worker ausgefallen',
  'body not readable': 'Body nicht lesbar',
  'not acknowledged in time': 'nicht rechtzeitig bestätigt',

  // The rules of an explanation.

  // The result of an explanation.

  // What the receiver of the console says about signatures.
  'The signature is valid': 'Die Signatur ist gültig',
  'The signature is valid, but the body is not JSON': 'Die Signatur ist gültig, aber der Body ist kein JSON',
  'The signature is valid, but the body has no type': 'Die Signatur ist gültig, aber der Body hat keinen Typ',
  'No signature matches: wrong secret or changed body': 'Keine Signatur passt: falsches Secret oder veränderter Body',
  'Pass the raw body as a string or bytes, not a parsed body':
    'Übergeben Sie den rohen Body als String oder Bytes, keinen geparsten Body',
  'The secret is not whsec_ or whpk_ followed by base64': 'Das Secret ist nicht whsec_ oder whpk_, gefolgt von base64',
  'The public key is not whpk_ followed by the base64 of 32 bytes':
    'Der öffentliche Schlüssel ist nicht whpk_, gefolgt von 32 Bytes in base64',
  'The header {name} is missing': 'Der Header {name} fehlt',
  'The header {name} is malformed': 'Der Header {name} hat die falsche Form',
  'The header {name} is malformed or given twice': 'Der Header {name} hat die falsche Form oder ist doppelt',
  'The header {name} is not a Unix time in seconds': 'Der Header {name} ist keine Unix-Zeit in Sekunden',
  'The webhook’s timestamp is in the future': 'Der Zeitstempel des Webhooks liegt in der Zukunft',
  'The webhook’s timestamp is too old': 'Der Zeitstempel des Webhooks ist zu alt',

  // Streams.
  'You can have at most {max} streams open': 'Sie können höchstens {max} Streams geöffnet haben',
  'A stream can have at most {max} subscriptions': 'Ein Stream kann höchstens {max} Abonnements haben',
  'A subscription can have at most {max} characters': 'Ein Abonnement kann höchstens {max} Zeichen haben',
  'A stream with a ticket takes no X-Organisation; filter by the organisation instead':
    'Ein Stream mit Ticket nimmt kein X-Organisation; filtern Sie stattdessen nach der Organisation',
  'An API key cannot create a ticket; send it in the Authorization header':
    'Ein API-Schlüssel kann kein Ticket erstellen; senden Sie ihn im Header Authorization',
  'Send either a ticket or a token, not both': 'Senden Sie entweder ein Ticket oder ein Token, nicht beides',
  'This ticket has been used or has expired': 'Dieses Ticket wurde verwendet oder ist abgelaufen',
  'Cannot subscribe to the unknown {what:text} "{name}"; {list:text}: {names:list}':
    '„{name}“ lässt sich nicht abonnieren ({what} unbekannt); {list}: {names}',
  path: 'Pfad',
  paths: 'Pfade',
  resource: 'Ressource',
  resources: 'Ressourcen',
  'The query parameter "{name}" belongs to no subscription; append it to one: subscribe=/posts%3Ffield%3Dvalue':
    'Der Query-Parameter „{name}“ gehört zu keinem Abonnement; hängen Sie ihn an eines an: subscribe=/posts%3Ffield%3Dvalue',
  'The query parameter "subscribe" is missing; use /posts, /posts/<id> or /posts?field=value':
    'Der Query-Parameter „subscribe“ fehlt; verwenden Sie /posts, /posts/<id> oder /posts?field=value',
};
