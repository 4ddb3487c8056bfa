import type { Translations } from '../catalogue.ts';

/** What does not work, and what to do about it: the overview of the console, and the findings of `belfry doctor` that it shows. */
export const operationsMessages: Translations = {
  // The names of tabs.
  Accounts: 'Konten',
  API: 'API',
  Audit: 'Protokoll',
  'E-mails': 'E-Mails',
  Jobs: 'Jobs',
  Operations: 'Betrieb',
  Push: 'Push',
  Webhooks: 'Webhooks',

  // Concerns.
  '1 webhook endpoint fails': '1 Webhook-Endpunkt schlägt fehl',
  '{count:number} webhook endpoints fail': '{count} Webhook-Endpunkte schlagen fehl',
  'More than {count:number} webhook endpoints fail': 'Mehr als {count} Webhook-Endpunkte schlagen fehl',
  '1 webhook endpoint failed at its last attempt': 'Bei 1 Webhook-Endpunkt ist der letzte Versuch fehlgeschlagen',
  '{count:number} webhook endpoints failed at their last attempt':
    'Bei {count} Webhook-Endpunkten ist der letzte Versuch fehlgeschlagen',
  'More than {count:number} webhook endpoints failed at their last attempt':
    'Bei mehr als {count} Webhook-Endpunkten ist der letzte Versuch fehlgeschlagen',
  '1 polled webhook endpoint has messages that wait for more than a day':
    'Bei 1 Webhook-Endpunkt warten Nachrichten seit mehr als einem Tag darauf, abgerufen zu werden',
  '{count:number} polled webhook endpoints have messages that wait for more than a day':
    'Bei {count} Webhook-Endpunkten warten Nachrichten seit mehr als einem Tag darauf, abgerufen zu werden',
  'More than {count:number} polled webhook endpoints have messages that wait for more than a day':
    'Bei mehr als {count} Webhook-Endpunkten warten Nachrichten seit mehr als einem Tag darauf, abgerufen zu werden',
  '1 webhook endpoint was disabled automatically': '1 Webhook-Endpunkt wurde automatisch deaktiviert',
  '{count:number} webhook endpoints were disabled automatically':
    '{count} Webhook-Endpunkte wurden automatisch deaktiviert',
  'More than {count:number} webhook endpoints were disabled automatically':
    'Mehr als {count} Webhook-Endpunkte wurden automatisch deaktiviert',
  '1 delivery of the last 24 hours failed in all attempts':
    '1 Zustellung der letzten 24 Stunden ist in allen Versuchen fehlgeschlagen',
  '{count:number} deliveries of the last 24 hours failed in all attempts':
    '{count} Zustellungen der letzten 24 Stunden sind in allen Versuchen fehlgeschlagen',
  'More than {count:number} deliveries of the last 24 hours failed in all attempts':
    'Mehr als {count} Zustellungen der letzten 24 Stunden sind in allen Versuchen fehlgeschlagen',
  '{count:number} e-mail of the last 24 hours could not be sent':
    '{count} E-Mail der letzten 24 Stunden konnte nicht gesendet werden',
  '{count:number} e-mails of the last 24 hours could not be sent':
    '{count} E-Mails der letzten 24 Stunden konnten nicht gesendet werden',
  '{count:number} push of the last 24 hours reached no device':
    '{count} Push der letzten 24 Stunden hat kein Gerät erreicht',
  '{count:number} pushes of the last 24 hours reached no device':
    '{count} Pushes der letzten 24 Stunden haben kein Gerät erreicht',
  '1 job has failed and can be retried': '1 Job ist fehlgeschlagen und kann wiederholt werden',
  '{count:number} jobs have failed and can be retried': '{count} Jobs sind fehlgeschlagen und können wiederholt werden',
  'More than {count:number} jobs have failed and can be retried':
    'Mehr als {count} Jobs sind fehlgeschlagen und können wiederholt werden',
  'Postgres has {count:number} of {max:number} connections open':
    'Postgres hat {count} von {max} Verbindungen geöffnet',
  'Redis at {address} deletes keys when its memory is full (maxmemory-policy {policy})':
    'Redis unter {address} löscht Schlüssel, wenn sein Speicher voll ist (maxmemory-policy {policy})',
  'Redis at {address} uses {share:number} % of its memory': 'Redis unter {address} belegt {share} % seines Speichers',
  'No process with the role relay runs: events, webhooks and e-mails wait':
    'Kein Prozess mit der Rolle relay läuft: Ereignisse, Webhooks und E-Mails warten',
  'The first row of the outbox has waited for {seconds:number} s': 'Die erste Zeile der Outbox wartet seit {seconds} s',
  'A transaction has been open for {minutes:number} minutes: until it ends, vacuum cannot remove deleted rows':
    'Eine Transaktion ist seit {minutes} Minuten offen: Bis sie endet, kann Vacuum gelöschte Zeilen nicht entfernen',
  'No process works on the queue {name}': 'Kein Prozess arbeitet an der Warteschlange {name}',
  'The next entry of the queue {name} has waited for {seconds:number} s':
    'Der nächste Eintrag der Warteschlange {name} wartet seit {seconds} s',
  'Callers wait for a connection to Postgres in one process':
    'In einem Prozess warten Aufrufer auf eine Verbindung zu Postgres',
  'Callers wait for a connection to Postgres in {count:number} processes':
    'In {count} Prozessen warten Aufrufer auf eine Verbindung zu Postgres',
  'The event loop is busy nearly all the time in one process':
    'In einem Prozess ist die Event-Loop fast immer ausgelastet',
  'The event loop is busy nearly all the time in {count:number} processes':
    'In {count} Prozessen ist die Event-Loop fast immer ausgelastet',
  '{share:number} % of the requests of the last {seconds:number} s failed':
    '{share} % der Anfragen der letzten {seconds} s sind fehlgeschlagen',
  'The processes are not known: {problem:text}': 'Die Prozesse sind nicht bekannt: {problem}',
  'Processes run {count:number} different versions': 'Prozesse laufen mit {count} verschiedenen Versionen',

  // Why a server is not usable.
  'Postgres {problem:text}': 'Postgres {problem}',
  'Postgres at {address} {problem:text}': 'Postgres unter {address} {problem}',
  'Redis {problem:text}': 'Redis {problem}',
  'Redis {problem:text} ({address})': 'Redis {problem} ({address})',
  'Redis at {address} {problem:text}': 'Redis unter {address} {problem}',
  'refuses the connection: {problem}': 'lehnt die Verbindung ab: {problem}',
  'is a Sentinel: list the Sentinels in REDIS_SENTINELS, and keep user and password in REDIS_URL':
    'ist ein Sentinel: Führen Sie die Sentinels in REDIS_SENTINELS auf, und lassen Sie Benutzer und Passwort in REDIS_URL',
  'is a node of a Redis Cluster: set REDIS_CLUSTER=on':
    'ist ein Knoten eines Redis-Clusters: Setzen Sie REDIS_CLUSTER=on',
  'is {version}: Belfry needs Redis 6.2 or newer, or Valkey':
    'ist {version}: Belfry braucht Redis 6.2 oder neuer, oder Valkey',
  'check REDIS_URL, and that Redis runs': 'prüfen Sie REDIS_URL, und ob Redis läuft',
  'check the user and the password in {variable}': 'prüfen Sie den Benutzer und das Passwort in {variable}',
  'create the database, or check its name in {variable}':
    'legen Sie die Datenbank an, oder prüfen Sie ihren Namen in {variable}',
  'check {variable}, and that Postgres runs': 'prüfen Sie {variable}, und ob Postgres läuft',

  // Findings about the environment and the servers.
  'The environment is valid (NODE_ENV={name})': 'Die Umgebung ist gültig (NODE_ENV={name})',
  'APP_URL starts with http:': 'APP_URL beginnt mit http:',
  'serve the app over HTTPS: tokens are sent in every request':
    'stellen Sie die App über HTTPS bereit: Jede Anfrage enthält Tokens',
  'TRUST_PROXY is not set': 'TRUST_PROXY ist nicht gesetzt',
  'behind a proxy or load balancer, set it: otherwise all clients share one rate limit (docs/operate/rate-limits.md)':
    'setzen Sie es hinter einem Proxy oder Load-Balancer: Sonst teilen sich alle Clients ein Rate-Limit (docs/operate/rate-limits.md)',
  'SMTP_URL is not set': 'SMTP_URL ist nicht gesetzt',
  'set SMTP_URL and MAIL_FROM: until then, e-mails such as password resets are not sent':
    'setzen Sie SMTP_URL und MAIL_FROM: Bis dahin werden E-Mails, etwa zum Zurücksetzen von Passwörtern, nicht gesendet',
  'CORS_ORIGINS allows every origin': 'CORS_ORIGINS erlaubt jeden Ursprung',
  'list the origins of your front ends': 'führen Sie die Ursprünge Ihrer Frontends auf',
  'The user of REDIS_URL may not ask for the eviction policy of Redis':
    'Der Benutzer von REDIS_URL darf nicht abfragen, welche Schlüssel Redis bei vollem Speicher löscht',
  'allow the user to run INFO, or check on the server that maxmemory-policy is noeviction':
    'erlauben Sie dem Benutzer INFO, oder prüfen Sie auf dem Server, dass maxmemory-policy noeviction ist',
  'Redis keeps all keys when its memory is full (maxmemory-policy noeviction)':
    'Redis behält alle Schlüssel, wenn sein Speicher voll ist (maxmemory-policy noeviction)',
  'deletes keys when its memory is full (maxmemory-policy {policy}): jobs would start late, and rate limits would forget clients':
    'löscht Schlüssel, wenn sein Speicher voll ist (maxmemory-policy {policy}): Jobs würden spät beginnen, und Rate-Limits würden Clients vergessen',
  'set maxmemory-policy noeviction (docs/operate/redis.md)':
    'setzen Sie maxmemory-policy noeviction (docs/operate/redis.md)',
  'Redis at {address} accepts writes': 'Redis unter {address} nimmt Schreibzugriffe an',
  'Redis at {address} accepts writes ({versions})': 'Redis unter {address} nimmt Schreibzugriffe an ({versions})',
  'The clocks of {server} and this machine agree': 'Die Uhren von {server} und diesem Rechner stimmen überein',
  'The clock of {server} is {seconds:number} s ahead of the clock of this machine':
    'Die Uhr von {server} geht der Uhr dieses Rechners {seconds} s vor',
  'The clock of {server} is {seconds:number} s behind the clock of this machine':
    'Die Uhr von {server} geht der Uhr dieses Rechners {seconds} s nach',
  'synchronize both with NTP: signatures, sessions and one-time codes depend on the time':
    'gleichen Sie beide mit NTP ab: Signaturen, Sitzungen und Einmalcodes hängen von der Zeit ab',
  'The file storage ({name}) can be used': 'Der Dateispeicher ({name}) ist nutzbar',
  'The file storage ({name}) cannot be used: {problem}': 'Der Dateispeicher ({name}) ist nicht nutzbar: {problem}',
  'Postgres at {address} responds ({version})': 'Postgres unter {address} antwortet ({version})',
  'Postgres {version} no longer gets security fixes': 'Postgres {version} erhält keine Sicherheitsupdates mehr',
  'upgrade to a version that is maintained': 'wechseln Sie zu einer Version, die gepflegt wird',
  'The database has the encoding {name}': 'Die Datenbank hat die Kodierung {name}',
  'create it again with the encoding UTF8': 'legen Sie sie mit der Kodierung UTF8 neu an',
  'The database has the locale {name}: searches find É and é only as they are written':
    'Die Datenbank hat die Locale {name}: Suchen finden É und é nur so, wie sie geschrieben sind',
  'create the database again with a locale that knows all letters, such as C.UTF-8 (docs/operate/deployment.md#create-the-database)':
    'legen Sie die Datenbank mit einer Locale neu an, die alle Buchstaben kennt, etwa C.UTF-8 (docs/operate/deployment.md#create-the-database)',
  'Postgres allows {count:number} connections: each web process uses up to {max:number} of them':
    'Postgres erlaubt {count} Verbindungen: Jeder Web-Prozess verwendet bis zu {max} davon',
  '{count:number} connections per process do not fit: {allowed:number} are allowed, and other programs have {open:number}':
    '{count} Verbindungen je Prozess passen nicht: {allowed} sind erlaubt, und andere Programme haben {open}',
  'lower POOL_MAX, or use a pooler (docs/operate/hosting.md)':
    'verringern Sie POOL_MAX, oder verwenden Sie einen Pooler (docs/operate/hosting.md)',
  'The read replica at {address} responds': 'Die Lesereplik unter {address} antwortet',
  'The read replica at {address} {problem:text}': 'Die Lesereplik unter {address} {problem}',
  'The read replica at {address} is not a replica: it accepts writes':
    'Die Lesereplik unter {address} ist keine Replik: Sie nimmt Schreibzugriffe an',
  'check {variable} (docs/operate/replicas.md)': 'prüfen Sie {variable} (docs/operate/replicas.md)',

  // Findings about migrations and tables.
  'Pending migrations of Belfry: {names}': 'Ausstehende Migrationen von Belfry: {names}',
  'Pending migrations of the app: {names}': 'Ausstehende Migrationen der App: {names}',
  'run npx belfry migrate': 'führen Sie npx belfry migrate aus',
  'Migrations were changed after they were applied: {names}':
    'Migrationen wurden nach ihrer Ausführung geändert: {names}',
  'run npx belfry migrate, which changes nothing and says what to do for each of them':
    'führen Sie npx belfry migrate aus; das ändert nichts und sagt, was für jede von ihnen zu tun ist',
  'The database is ahead: it has {count:number} migration that neither this version of the app nor Belfry {version} has':
    'Die Datenbank ist voraus: Sie hat {count} Migration, die weder diese Version der App noch Belfry {version} hat',
  'The database is ahead: it has {count:number} migrations that neither this version of the app nor Belfry {version} has':
    'Die Datenbank ist voraus: Sie hat {count} Migrationen, die weder diese Version der App noch Belfry {version} hat',
  'deploy the version that migrated the database, unless you went back to this one on purpose':
    'stellen Sie die Version bereit, die die Datenbank migriert hat, außer Sie sind absichtlich zu dieser zurückgekehrt',
  'All {count:number} migrations are applied': 'Alle {count} Migrationen sind ausgeführt',
  'The tables are managed by belfry dev, not by migrations': 'Die Tabellen verwaltet belfry dev, nicht Migrationen',
  "{folder} is not used: Belfry's migrations are part of the package. Delete the folder.":
    '{folder} wird nicht verwendet: Die Migrationen von Belfry gehören zum Paket. Löschen Sie den Ordner.',
  "{folder} is not used: Belfry's migrations are part of the package, but without {names}. Move these statements to a migration of your own (npx belfry migration generate <name> --empty), then delete the folder.":
    '{folder} wird nicht verwendet: Die Migrationen von Belfry gehören zum Paket, aber ohne {names}. Verschieben Sie diese Anweisungen in eine eigene Migration (npx belfry migration generate <name> --empty), und löschen Sie dann den Ordner.',
  'The migrations cannot be read: {problem}': 'Die Migrationen sind nicht lesbar: {problem}',
  'allow the user of the app to read the folder': 'erlauben Sie dem Benutzer der App, den Ordner zu lesen',
  'The user of the database may not see which migrations are applied: {problem}':
    'Der Benutzer der Datenbank darf nicht sehen, welche Migrationen ausgeführt sind: {problem}',
  'run npx belfry migration status as the user that migrates':
    'führen Sie npx belfry migration status als der Benutzer aus, der migriert',
  'The migrations cannot be checked: the server of {variable} {problem:text}':
    'Die Migrationen lassen sich nicht prüfen: Der Server von {variable} {problem}',
  'The database lacks {names:list}': 'In der Datenbank fehlt: {names}',
  'The database lacks {names} and {count:number} more': 'In der Datenbank fehlt: {names} und {count} weitere',
  'start npx belfry dev, which updates the tables': 'starten Sie npx belfry dev, das die Tabellen anpasst',
  'if the declarations changed, run npx belfry migration generate, then npx belfry migrate; if not, the database was changed by hand':
    'wenn sich die Deklarationen geändert haben, führen Sie npx belfry migration generate aus, dann npx belfry migrate; sonst wurde die Datenbank von Hand geändert',
  'The database has everything that the app declares': 'Die Datenbank hat alles, was die App deklariert',
  'Encryption: {problem}': 'Verschlüsselung: {problem}',
  'see docs/build/encryption.md': 'siehe docs/build/encryption.md',

  // Findings about processes and what waits for them.
  '{rows:texts} waits and no {role} runs': '{rows} wartet, und kein Prozess mit der Rolle {role} läuft',
  '{rows:texts} wait and no {role} runs': '{rows} warten, und kein Prozess mit der Rolle {role} läuft',
  '{count:number} event in the outbox': '{count} Ereignis in der Outbox',
  '{count:number} events in the outbox': '{count} Ereignisse in der Outbox',
  'more events in the outbox': 'mehr Ereignisse in der Outbox',
  '{count:number} webhook delivery': '{count} Zustellung eines Webhooks',
  '{count:number} webhook deliveries': '{count} Zustellungen von Webhooks',
  'more webhook deliveries': 'mehr Zustellungen von Webhooks',
  '{count:number} background job': '{count} Job',
  '{count:number} background jobs': '{count} Jobs',
  'more background jobs': 'mehr Jobs',
  '{count:number} e-mail': '{count} E-Mail',
  '{count:number} e-mails': '{count} E-Mails',
  'more e-mails': 'mehr E-Mails',
  '{count:number} push message': '{count} Push-Nachricht',
  '{count:number} push messages': '{count} Push-Nachrichten',
  'more push messages': 'mehr Push-Nachrichten',
  'start one with npx belfry start {role}, or remove {variable}=off from the variables of web (docs/operate/deployment.md)':
    'starten Sie einen mit npx belfry start {role}, oder entfernen Sie {variable}=off aus den Variablen von web (docs/operate/deployment.md)',
  'start a process with this role: npx belfry start {role}, or remove {variable}=off from the variables of web (docs/operate/deployment.md)':
    'starten Sie einen Prozess mit dieser Rolle: npx belfry start {role}, oder entfernen Sie {variable}=off aus den Variablen von web (docs/operate/deployment.md)',
  'No process works on {queues:text}: none has the role {role}':
    'Kein Prozess arbeitet an {queues}: Keiner hat die Rolle {role}',
  'the outbox, so events, webhooks and e-mails wait': 'der Outbox, daher warten Ereignisse, Webhooks und E-Mails',
  'the queues of webhooks': 'den Warteschlangen der Webhooks',
  'the queues of push messages, e-mails and extensions':
    'den Warteschlangen von Push-Nachrichten, E-Mails und Erweiterungen',
  'the queues of background jobs': 'den Warteschlangen der Jobs',
  'No process works on the queue {name}, which has {count:number} entry':
    'Kein Prozess arbeitet an der Warteschlange {name}, die {count} Eintrag hat',
  'No process works on the queue {name}, which has {count:number} entries':
    'Kein Prozess arbeitet an der Warteschlange {name}, die {count} Einträge hat',
  'start a process with the role of its worker (docs/operate/deployment.md)':
    'starten Sie einen Prozess mit der Rolle ihres Workers (docs/operate/deployment.md)',
  '{count:number} webhook endpoint is failing: {names}': '{count} Webhook-Endpunkt schlägt fehl: {names}',
  '{count:number} webhook endpoints are failing: {names}': '{count} Webhook-Endpunkte schlagen fehl: {names}',
  '{count:number} webhook endpoint is retrying: {names}': '{count} Webhook-Endpunkt wird erneut versucht: {names}',
  '{count:number} webhook endpoints are retrying: {names}': '{count} Webhook-Endpunkte werden erneut versucht: {names}',
  'see npx belfry webhooks status; messages that are never acknowledged fail (keepDeliveriesDays)':
    'siehe npx belfry webhooks status; Nachrichten, die nie bestätigt werden, schlagen fehl (keepDeliveriesDays)',
  'see npx belfry webhooks status, and /console/webhooks/endpoints?state={state} in the console':
    'siehe npx belfry webhooks status, und /console/webhooks/endpoints?state={state} in der Konsole',
};
