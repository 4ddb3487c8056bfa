import type { Translations } from '../catalogue.ts';

/** The console. */
export const consoleMessages: Translations = {
  // Access.
  'The console accepts only sessions': 'Die Konsole nimmt nur Sitzungen an',
  'The console accepts requests only from its own page': 'Die Konsole nimmt nur Anfragen von ihrer eigenen Seite an',
  "Only the console's own page can start a session": 'Nur die Seite der Konsole selbst kann eine Sitzung beginnen',
  'The console is available only at localhost, at a loopback address, or at APP_URL':
    'Die Konsole ist nur unter localhost, unter einer Loopback-Adresse oder unter APP_URL erreichbar',
  'The console accepts no requests through a proxy; this one has the header {header}. Open the port of Belfry itself':
    'Die Konsole nimmt keine Anfragen über einen Proxy an; diese hat den Header {header}. Öffnen Sie den Port von Belfry selbst',
  'The console accepts requests only from the machine (or container) that Belfry runs on; this request came from another one. Open it there, or forward the port: ssh -L {port}:localhost:{target} <that machine>':
    'Die Konsole nimmt nur Anfragen von dem Rechner (oder Container) an, auf dem Belfry läuft; diese kam von einem anderen. Öffnen Sie sie dort, oder leiten Sie den Port weiter: ssh -L {port}:localhost:{target} <dieser Rechner>',
  'Too many pages of the console are open': 'Es sind zu viele Seiten der Konsole geöffnet',

  // Accounts.
  'Change your own e-mail address on your account page, or ask another administrator':
    'Ändern Sie Ihre eigene E-Mail-Adresse auf Ihrer Kontoseite, oder bitten Sie einen anderen Administrator',
  'Is already the e-mail address of this user': 'Ist bereits die E-Mail-Adresse dieses Benutzers',
  'The accounts of this app cannot be disabled': 'Die Konten dieser App lassen sich nicht deaktivieren',
  'The roles of this user have changed meanwhile; reload the page and try again':
    'Die Rollen dieses Benutzers haben sich inzwischen geändert; laden Sie die Seite neu, und versuchen Sie es erneut',
  'The users of this app have no roles': 'Die Benutzer dieser App haben keine Rollen',
  'This account is already active': 'Dieses Konto ist bereits aktiv',
  'This account is already disabled': 'Dieses Konto ist bereits deaktiviert',
  'You cannot disable your own account; ask another administrator':
    'Sie können Ihr eigenes Konto nicht deaktivieren; bitten Sie einen anderen Administrator',
  'You cannot remove your own roles; ask another administrator':
    'Sie können sich Ihre eigenen Rollen nicht entziehen; bitten Sie einen anderen Administrator',
  'There is no such role': 'Diese Rolle gibt es nicht',
  'This app does not verify e-mail addresses': 'Diese App bestätigt keine E-Mail-Adressen',
  'This app has no accounts': 'Diese App hat keine Konten',
  'Must be newest or oldest': 'Muss newest oder oldest sein',
  'Must be the id of a row': 'Muss die ID einer Zeile sein',
  'The parameter "state" must be one of the states of the section':
    'Der Parameter „state“ muss einer der Zustände des Abschnitts sein',

  // Records.
  'There is no such resource': 'Diese Ressource gibt es nicht',
  'Is read-only here; change it in the Accounts tab': 'Ist hier schreibgeschützt; ändern Sie es unter „Konten“',
  'This app records no audit trail': 'Diese App führt kein Audit-Protokoll',
  'Must be check or write': 'Muss check oder write sein',
  'Must be csv or ndjson': 'Muss csv oder ndjson sein',
  'The query parameter "{name}" {problem:text}': 'Der Query-Parameter „{name}“ {problem}',
  'must be csv or ndjson': 'muss csv oder ndjson sein',
  'must be true or false': 'muss true oder false sein',
  'The query parameter "{name}" can be at most {max:number}': 'Der Query-Parameter „{name}“ darf höchstens {max} sein',
  'The query parameter "upsertBy" must be a unique field whose values are shown':
    'Der Query-Parameter „upsertBy“ muss ein eindeutiges Feld sein, dessen Werte angezeigt werden',
  '"{field}" uses a write-only field, whose values lists do not compare':
    '„{field}“ verwendet ein Feld, das nur geschrieben wird; Listen vergleichen seine Werte nicht',
  'Has no column "{column}"': 'Hat keine Spalte „{column}“',
  'Has more than {max:number} rows. Split it, or use the command belfry import. Earlier rows were handled.':
    'Hat mehr als {max} Zeilen. Teilen Sie die Datei, oder verwenden Sie den Befehl belfry import. Frühere Zeilen wurden verarbeitet.',
  'Took longer than {minutes:number} minutes. Split it, or use the command belfry import. Earlier rows may have been handled.':
    'Dauerte länger als {minutes} Minuten. Teilen Sie die Datei, oder verwenden Sie den Befehl belfry import. Frühere Zeilen wurden vielleicht verarbeitet.',
  'The column "{column}" is read-only here; change it in the Accounts tab':
    'Die Spalte „{column}“ ist hier schreibgeschützt; ändern Sie sie unter „Konten“',
  'Your access has ended. Rows up to {row} were handled':
    'Ihr Zugang ist beendet. Die Zeilen bis {row} wurden verarbeitet',
  'The column id is ignored: every row creates a new record':
    'Die Spalte id wird ignoriert: Jede Zeile legt einen neuen Datensatz an',
  'Must be an encrypted field that can be read': 'Muss ein verschlüsseltes Feld sein, das gelesen werden darf',
  'Must be the name of a field': 'Muss der Name eines Feldes sein',
  'Must be the name of the file': 'Muss der Name der Datei sein',
  'There is no such file field': 'Dieses Dateifeld gibt es nicht',
  'Must be "system", "visitor" or the id of a user': 'Muss „system“, „visitor“ oder die ID eines Benutzers sein',
  'This account is not active, so the API refuses every request of its user':
    'Dieses Konto ist nicht aktiv, darum lehnt die API jede Anfrage seines Benutzers ab',
  // Why a viewer sees a record or not.
  'The resource has no list': 'Die Ressource hat keine Liste',
  'The resource has no route that reads a record': 'Die Ressource hat keine Route, die einen Datensatz liest',
  'The record is deleted': 'Der Datensatz ist gelöscht',
  'The scope filter of {resource} hides the record': 'Der Scope-Filter von {resource} verbirgt den Datensatz',
  'policies.{action}: {policy} does not allow this viewer':
    'policies.{action}: {policy} lässt diesen Betrachter nicht zu',
  'policies.{action}: {policy} allows this viewer': 'policies.{action}: {policy} lässt diesen Betrachter zu',
  'policies.{action}: {policy} leaves the record out of lists':
    'policies.{action}: {policy} lässt den Datensatz in Listen weg',

  'the reference policy of {resource} ({policy}), or the record does not exist':
    'die Referenz-Policy von {resource} ({policy}), oder den Datensatz gibt es nicht',
  'the reference policy of {resource} ({policy}), or the scope filter, or the record does not exist':
    'die Referenz-Policy von {resource} ({policy}), oder der Scope-Filter, oder den Datensatz gibt es nicht',

  'Is only for the action update': 'Ist nur für die Aktion update',
  'Must be delete, restore or update': 'Muss delete, restore oder update sein',
  'Send the version of the record that you have seen as If-Match':
    'Senden Sie die Version des Datensatzes, die Sie gesehen haben, als If-Match',
  'The console does not set passwords; users set their own':
    'Die Konsole setzt keine Passwörter; Benutzer setzen ihre eigenen',

  // Jobs, e-mails and pushes.
  'Must be the name of a job': 'Muss der Name eines Jobs sein',
  'The app declares no job with this name': 'Die App deklariert keinen Job mit diesem Namen',
  'Is not declared. Did you mean "{name}"?': 'Ist nicht deklariert. Meinten Sie „{name}“?',
  'Is not declared; jobs: {names}': 'Ist nicht deklariert; Jobs: {names}',
  'Must be a part of an e-mail address': 'Muss ein Teil einer E-Mail-Adresse sein',
  'Must be light or dark': 'Muss light oder dark sein',
  'There is no captured e-mail with this id': 'Es gibt keine abgefangene E-Mail mit dieser ID',
  'Must be blocked or loaded': 'Muss blocked oder loaded sein',
  'Your account has no e-mail address to which a test could go':
    'Ihr Konto hat keine E-Mail-Adresse, an die ein Test gehen könnte',
  'No mail server is set; set SMTP_URL and MAIL_FROM':
    'Es ist kein Mailserver eingestellt; setzen Sie SMTP_URL und MAIL_FROM',
  'You can send {count} tests in a minute': 'Sie können in einer Minute {count} Tests senden',
  'There is no test with this id': 'Es gibt keinen Test mit dieser ID',
  'The text of {kind} in {locale} returned an invalid e-mail':
    'Der Text von {kind} in {locale} hat eine ungültige E-Mail ergeben',
  'The text of {kind} in {locale} threw {error}': 'Der Text von {kind} in {locale} hat einen Fehler ausgelöst: {error}',
  'Must be a behavior': 'Muss ein Verhalten sein',
  'Must be simulated devices': 'Müssen simulierte Geräte sein',

  // Operations.
  'There is no such count: its window may have ended':
    'Diesen Zähler gibt es nicht: Vielleicht ist sein Zeitraum zu Ende',
  'q must be an IP address, an e-mail address or the id of a user':
    'q muss eine IP-Adresse, eine E-Mail-Adresse oder die ID eines Benutzers sein',
  'This row does not wait for another attempt any more': 'Diese Zeile wartet nicht mehr auf einen weiteren Versuch',
  'This entry is no longer among the failed ones': 'Dieser Eintrag gehört nicht mehr zu den fehlgeschlagenen',
  'Must be the id of a line': 'Muss die ID einer Zeile sein',
  'Redis at {address} {problem:text}.': 'Redis unter {address} {problem}.',
  'Redis {problem:text} ({address}). {advice:text}.': 'Redis {problem} ({address}). {advice}.',
  'Check REDIS_URL, and that Redis runs': 'Prüfen Sie REDIS_URL, und ob Redis läuft',
  'does not respond': 'antwortet nicht',
  'cannot be reached: {reason}': 'ist nicht erreichbar: {reason}',
  'cannot be reached: the Sentinels need a password, or refuse it: check REDIS_SENTINEL_PASSWORD':
    'ist nicht erreichbar: Die Sentinels verlangen ein Passwort oder lehnen es ab: Prüfen Sie REDIS_SENTINEL_PASSWORD',
  'is a read-only replica: REDIS_URL must name the primary server; for an automatic failover, set REDIS_SENTINELS':
    'ist eine schreibgeschützte Replik: REDIS_URL muss den primären Server nennen; setzen Sie für ein automatisches Failover REDIS_SENTINELS',
  'is full: raise its maxmemory, or use a larger server':
    'ist voll: Erhöhen Sie maxmemory, oder verwenden Sie einen größeren Server',
  'refuses the user of REDIS_URL: the user lacks a permission ({problem}). ACL rule that Belfry needs: {rule}':
    'lehnt den Benutzer von REDIS_URL ab: Ihm fehlt eine Berechtigung ({problem}). ACL-Regel, die Belfry braucht: {rule}',
  'needs a password: put it into REDIS_URL, redis://:password@host:6379':
    'verlangt ein Passwort: Tragen Sie es in REDIS_URL ein, redis://:password@host:6379',
  'refuses the user name or password of REDIS_URL': 'lehnt den Benutzernamen oder das Passwort von REDIS_URL ab',
  'is still loading its data from disk': 'lädt noch seine Daten von der Festplatte',
  'refuses writes, because it cannot save its data to disk: see its log':
    'lehnt Schreibzugriffe ab, weil es seine Daten nicht auf die Festplatte speichern kann: Sehen Sie in seinem Log nach',
  'refuses writes, because it has too few replicas (min-replicas-to-write)':
    'lehnt Schreibzugriffe ab, weil es zu wenige Repliken hat (min-replicas-to-write)',
  'is not complete: {problem}': 'ist nicht vollständig: {problem}',
  'is unknown to the Sentinels: check REDIS_SENTINEL_MASTER':
    'ist den Sentinels unbekannt: Prüfen Sie REDIS_SENTINEL_MASTER',
  'is not a Redis Cluster: remove REDIS_CLUSTER=on': 'ist kein Redis-Cluster: Entfernen Sie REDIS_CLUSTER=on',
  'cannot be trusted: {problem}. If a private authority issued its certificate, set REDIS_CA':
    'ist nicht vertrauenswürdig: {problem}. Wenn eine private Stelle das Zertifikat ausgestellt hat, setzen Sie REDIS_CA',
};
