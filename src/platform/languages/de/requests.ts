import type { Translations } from '../catalogue.ts';

/** Requests in general: the catalogue of errors, bodies, headers and limits. */
export const requestMessages: Translations = {
  // The default texts of the error codes.
  'The request is malformed': 'Die Anfrage ist fehlerhaft',
  'The body is not valid JSON': 'Der Body ist kein gültiges JSON',
  'This reset link is invalid or has expired': 'Dieser Link zum Zurücksetzen ist ungültig oder abgelaufen',
  'You must be signed in': 'Sie müssen angemeldet sein',
  'You are not allowed to do this': 'Dazu haben Sie keine Berechtigung',
  'This action requires a recent sign-in; sign in again':
    'Diese Aktion verlangt eine kürzliche Anmeldung; melden Sie sich erneut an',
  'Not found': 'Nicht gefunden',
  'This path does not support this method': 'Dieser Pfad unterstützt diese Methode nicht',
  'The request did not arrive in time': 'Die Anfrage ist nicht rechtzeitig angekommen',
  'This value is already taken': 'Dieser Wert ist bereits vergeben',
  'The limit has been reached': 'Die Obergrenze ist erreicht',
  'You have reached the maximum number of API keys': 'Sie haben die Höchstzahl an API-Schlüsseln erreicht',
  'The record has changed since you read it': 'Der Datensatz wurde geändert, seit Sie ihn gelesen haben',
  'The body is too large': 'Der Body ist zu groß',
  'The body must be application/json in UTF-8': 'Der Body muss application/json in UTF-8 sein',
  'The file does not have this range of bytes': 'Die Datei hat diesen Bereich von Bytes nicht',
  'The only supported value of the Expect header is 100-continue':
    'Der einzige unterstützte Wert des Headers Expect ist 100-continue',
  'The request is invalid': 'Die Anfrage ist ungültig',
  'This Idempotency-Key was already used with a different request':
    'Dieser Idempotency-Key wurde bereits mit einer anderen Anfrage verwendet',
  'The request line and headers are too large': 'Die Anfragezeile und die Header sind zu groß',
  'Too many requests; try again later': 'Zu viele Anfragen; versuchen Sie es später erneut',
  'Something went wrong': 'Etwas ist schiefgegangen',
  'The service is temporarily unavailable': 'Der Dienst ist vorübergehend nicht verfügbar',
  'The server has no room for this file': 'Der Server hat keinen Platz für diese Datei',

  // Limits. Only developers get the long texts.
  'Too many requests: a client may send {limit} in {window:text} to {route:text} ({setting}). Try again in {seconds} seconds.':
    'Zu viele Anfragen: Ein Client darf {limit} in {window} an {route} senden ({setting}). Versuchen Sie es in {seconds} Sekunden erneut.',
  'Too many requests: a client may send {limit} in {window:text} to {route:text} ({setting}). Try again in {seconds} seconds, or set LOOPBACK_RATE_LIMITS=off to lift the limits for clients on this machine.':
    'Zu viele Anfragen: Ein Client darf {limit} in {window} an {route} senden ({setting}). Versuchen Sie es in {seconds} Sekunden erneut, oder heben Sie die Limits für Clients auf diesem Rechner mit LOOPBACK_RATE_LIMITS=off auf.',
  'all routes together': 'alle Routen zusammen',
  '{count:number} second': '{count} Sekunde',
  '{count:number} seconds': '{count} Sekunden',
  '{count:number} minute': '{count} Minute',
  '{count:number} minutes': '{count} Minuten',
  '{count:number} hour': '{count} Stunde',
  '{count:number} hours': '{count} Stunden',
  'Too many responses are waiting to be read. Read them, request less data at once, or try again later':
    'Zu viele Antworten warten darauf, gelesen zu werden. Lesen Sie sie, fordern Sie weniger Daten auf einmal an, oder versuchen Sie es später erneut',

  // Bodies.
  'The body could not be read': 'Der Body konnte nicht gelesen werden',
  'The body was cut off': 'Der Body ist abgeschnitten',
  'The body must be at most {max:number} bytes': 'Der Body darf höchstens {max} Bytes haben',
  'The content encoding must be gzip, deflate, br or identity':
    'Die Content-Encoding muss gzip, deflate, br oder identity sein',
  'This body must not have a Content-Encoding': 'Dieser Body darf keine Content-Encoding haben',
  'The Content-Type must be {types:list}': 'Der Content-Type muss {types} sein',
  'The Content-Type of the part "{part}" must be {types:list}': 'Der Content-Type des Teils „{part}“ muss {types} sein',
  'The part "{part}" must be at most {max:number} bytes': 'Der Teil „{part}“ darf höchstens {max} Bytes haben',
  'The part "{part}" must not have a Content-Transfer-Encoding':
    'Der Teil „{part}“ darf kein Content-Transfer-Encoding haben',
  'The Content-Type multipart/form-data needs a valid boundary parameter':
    'Der Content-Type multipart/form-data braucht einen gültigen Parameter boundary',
  'Part {index} has too many headers': 'Teil {index} hat zu viele Header',
  'Part {index} needs the header Content-Disposition: form-data with a name':
    'Teil {index} braucht den Header Content-Disposition: form-data mit einem Namen',
  'The name of part {index} must be at most {max:number} characters':
    'Der Name von Teil {index} darf höchstens {max} Zeichen haben',
  'The name of part {index}, "{name}", is not allowed': 'Der Name von Teil {index}, „{name}“, ist nicht erlaubt',
  'The field "{field}" makes the form too large': 'Mit dem Feld „{field}“ ist das Formular zu groß',
  'The field "{field}" must be UTF-8': 'Das Feld „{field}“ muss UTF-8 sein',
  'The form could not be read': 'Das Formular konnte nicht gelesen werden',
  'The form has too many empty file inputs': 'Das Formular hat zu viele leere Dateifelder',
  'The form is empty': 'Das Formular ist leer',
  'The form is truncated or malformed': 'Das Formular ist unvollständig oder fehlerhaft',
  'The form must have at most {max:number} fields': 'Das Formular darf höchstens {max} Felder haben',
  'The form must have at most {max:number} files{reason:text}':
    'Das Formular darf höchstens {max} Dateien haben{reason}',
  ', because you can have at most {max} uploads that no record uses yet':
    ', weil Sie höchstens {max} Uploads haben können, die noch kein Datensatz verwendet',
  'Send the field "{field}" before the files of the form':
    'Senden Sie das Feld „{field}“ vor den Dateien des Formulars',
  'Must not be a file': 'Darf keine Datei sein',
  'Must be nested at most {max:number} levels deep': 'Darf höchstens {max} Ebenen tief verschachtelt sein',
  'Must have at most {max:number} fields in one object': 'Darf höchstens {max} Felder in einem Objekt haben',
  'Must have at most {max:number} values': 'Darf höchstens {max} Werte haben',

  // Headers.
  'If-Match must be * or a list of entity tags in double quotes':
    'If-Match muss * oder eine Liste von Entity-Tags in Anführungszeichen sein',
  'If-Match is only for changes to a single record': 'If-Match ist nur für Änderungen an einem einzelnen Datensatz',
  'If-None-Match is only for GET and HEAD. Use If-Match':
    'If-None-Match ist nur für GET und HEAD. Verwenden Sie If-Match',
  'Idempotency-Key must be one key of 1 to {max:number} visible ASCII characters':
    'Idempotency-Key muss ein Schlüssel aus 1 bis {max} sichtbaren ASCII-Zeichen sein',
  'The first request with this Idempotency-Key is still in progress':
    'Die erste Anfrage mit diesem Idempotency-Key läuft noch',
  'The server cannot recognize a repetition of this kind of body. Send the request without Idempotency-Key':
    'Der Server kann eine Wiederholung dieser Art von Body nicht erkennen. Senden Sie die Anfrage ohne Idempotency-Key',
  'The stored response requires a verified e-mail address, which you no longer have':
    'Die gespeicherte Antwort verlangt eine bestätigte E-Mail-Adresse, die Sie nicht mehr haben',
  'The stored response requires the role "{role}", which you no longer have':
    'Die gespeicherte Antwort verlangt die Rolle „{role}“, die Sie nicht mehr haben',
  'This request was already processed, but its response was too large to be stored':
    'Diese Anfrage wurde bereits ausgeführt, aber ihre Antwort war zu groß, um gespeichert zu werden',
  'Was used with a different request': 'Wurde mit einer anderen Anfrage verwendet',

  // Query strings.
  'The query string is malformed: each % must start a percent-encoded UTF-8 character, such as %20':
    'Der Query-String ist fehlerhaft: Jedes % muss ein prozentkodiertes UTF-8-Zeichen beginnen, etwa %20',
  'The query string must have at most {max:number} parameters': 'Der Query-String darf höchstens {max} Parameter haben',
  'The query string is invalid: {problem:text}': 'Der Query-String ist ungültig: {problem}',
  'The query parameter "{name}": {problem:text}': 'Der Query-Parameter „{name}“: {problem}',
  'The query parameter "{name}" is invalid: {problem:text}': 'Der Query-Parameter „{name}“ ist ungültig: {problem}',
  'The query parameter "{name}" is required': 'Der Query-Parameter „{name}“ ist erforderlich',
  'The query parameter "{name}" must be given once': 'Der Query-Parameter „{name}“ darf nur einmal angegeben werden',
  'Unknown query parameter "{name}"': 'Unbekannter Query-Parameter „{name}“',
  'Unknown query parameter {names}': 'Unbekannter Query-Parameter {names}',
  'Unknown parameter "{name}"; use {names}': 'Unbekannter Parameter „{name}“; verwenden Sie {names}',
  '{name} must be a whole number from 1 to {max:number}': '{name} muss eine ganze Zahl von 1 bis {max} sein',
};
