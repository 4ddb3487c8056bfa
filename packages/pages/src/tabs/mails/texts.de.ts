import type { Texts } from './texts.en.ts';

/** The texts in German. */
export const de: Texts = {
  tab: 'E-Mails',
  templates: 'Vorlagen',
  captured: 'Abgefangen',
  origins: { project: 'Aus Ihrer App', replaced: 'Mit Ihren Texten', builtIn: 'Eingebaut' },
  kind: 'Name im Code',
  origin: 'Texte',
  replacedHint: 'Ihre Texte ersetzen die eingebauten',
  locale: 'Sprache',
  kinds: {
    'password-reset': {
      name: 'Passwort zurücksetzen',
      when: 'Geht an Benutzer, die ihr Passwort vergessen haben',
    },
    'verify-email': {
      name: 'Adresse bestätigen',
      when: 'Geht nach einer Registrierung hinaus und wenn der Benutzer es anfordert',
    },
    'change-email': {
      name: 'Neue Adresse bestätigen',
      when: 'Geht an die neue Adresse, wenn der Benutzer die Adresse ändern möchte',
    },
    'email-changed': {
      name: 'Adresse geändert',
      when: 'Geht an die frühere Adresse, nachdem die Adresse geändert wurde',
    },
    'email-change-undone': {
      name: 'Adresse wiederhergestellt',
      when: 'Geht an die wiederhergestellte Adresse, nachdem eine Änderung der Adresse rückgängig gemacht wurde',
    },
    'sign-in': {
      name: 'Anmeldelink',
      when: 'Geht an Benutzer, die sich mit einem Link oder Code anmelden möchten',
    },
    invitation: { name: 'Einladung', when: 'Geht an eine Adresse, die ein Benutzer einlädt' },
    'organisation-invitation': {
      name: 'Einladung in eine Organisation',
      when: 'Geht an eine Adresse, die ein Mitglied in eine Organisation einlädt',
    },
    'new-device': {
      name: 'Neues Gerät',
      when: 'Geht nach einer Anmeldung von einem Gerät hinaus, das für das Konto neu ist',
    },
    'password-changed': {
      name: 'Passwort geändert',
      when: 'Geht hinaus, nachdem das Passwort geändert oder zurückgesetzt wurde',
    },
    'two-factor-enabled': {
      name: 'Zwei-Faktor-Anmeldung eingeschaltet',
      when: 'Geht hinaus, nachdem die Zwei-Faktor-Anmeldung eingeschaltet wurde',
    },
    'two-factor-disabled': {
      name: 'Zwei-Faktor-Anmeldung ausgeschaltet',
      when: 'Geht hinaus, nachdem die Zwei-Faktor-Anmeldung ausgeschaltet wurde',
    },
    'recovery-code-used': {
      name: 'Wiederherstellungscode verwendet',
      when: 'Geht nach einer Anmeldung oder Änderung mit einem Wiederherstellungscode hinaus',
    },
    'identity-linked': {
      name: 'Anmeldeweg hinzugefügt',
      when: 'Geht hinaus, nachdem ein Konto bei einem Anbieter verknüpft wurde',
    },
    'identity-removed': {
      name: 'Anmeldeweg entfernt',
      when: 'Geht hinaus, nachdem die Verknüpfung mit einem Anbieter entfernt wurde',
    },
    'passkey-added': { name: 'Passkey hinzugefügt', when: 'Geht hinaus, nachdem ein Passkey hinzugefügt wurde' },
    'passkey-removed': { name: 'Passkey entfernt', when: 'Geht hinaus, nachdem ein Passkey entfernt wurde' },
    'webhook-created': { name: 'Endpunkt erstellt', when: 'Geht hinaus, nachdem ein Webhook-Endpunkt erstellt wurde' },
    'webhook-disabled': {
      name: 'Endpunkt deaktiviert',
      when: 'Geht hinaus, nachdem ein Webhook-Endpunkt deaktiviert wurde, weil Zustellungen scheiterten oder sein API-Schlüssel endete',
    },
    'webhook-failing': {
      name: 'Endpunkt gestört',
      when: 'Geht hinaus, wenn Zustellungen an einen Webhook-Endpunkt scheitern, bevor er deaktiviert wird; je Endpunkt höchstens einmal am Tag',
    },
    'webhook-recovered': {
      name: 'Endpunkt arbeitet wieder',
      when: 'Geht hinaus, nachdem eine Zustellung gelungen ist, wenn vorher eine E-Mail die Störung gemeldet hat',
    },
    'webhooks-revoked': {
      name: 'Endpunkte zur Sicherheit deaktiviert',
      when: 'Geht hinaus, nachdem die Webhook-Endpunkte eines Benutzers zusammen mit anderen Zugangsdaten deaktiviert wurden',
    },
    'data-export': { name: 'Datenexport', when: 'Geht hinaus, wenn ein Datenexport heruntergeladen werden kann' },
    'account-erased': { name: 'Konto gelöscht', when: 'Geht hinaus, nachdem ein Konto gelöscht wurde' },
  },
  noServer: {
    title: 'Es ist kein Mailserver eingestellt.',
    before: 'E-Mails warten und werden nach neun Stunden aufgegeben. Setzen Sie',
    and: 'und',
    after: 'in der Umgebung jedes Prozesses.',
  },
  views: { label: 'Ansicht', html: 'Vorschau', source: 'Quelltext' },
  widths: { label: 'Breite', desktop: 'Computer', phone: 'Telefon' },
  schemes: { label: 'Farben', light: 'Hell', dark: 'Dunkel' },
  images: { label: 'Bilder anderer Server', blocked: 'Bilder blockiert', loaded: 'Bilder geladen' },
  preview: 'Vorschau',
  to: (recipient) => `An ${recipient}`,
  htmlPart: 'HTML der E-Mail',
  textPart: 'Text der E-Mail',
  textHeading: 'Textfassung',
  sourcePart: 'Quelltext des HTML',
  links: 'Verweise',
  test: {
    send: 'Test an mich senden',
    heading: 'Testversand',
    recipient: (address) => `Eine E-Mail mit diesen Beispielwerten an ${address}`,
    noAddress: 'Ihr Konto hat keine E-Mail-Adresse, an die ein Test gehen könnte.',
    waiting: 'Wartet auf den Worker',
    noWorker: 'Noch hat kein Worker die E-Mail übernommen. Prozesse mit dieser Rolle senden E-Mails:',
    sent: 'Gesendet: Der Mailserver hat die E-Mail angenommen',
    retry: 'Noch nicht gesendet',
    failed: 'Nicht gesendet',
    nextAttempt: 'Nächster Versuch:',
    answer: 'Meldung des Mailservers:',
  },
  problems: {
    unreachable: 'Der Mailserver ist nicht erreichbar.',
    tls: 'Die verschlüsselte Verbindung zum Mailserver kam nicht zustande.',
    signIn: 'Der Mailserver hat den Benutzernamen oder das Passwort abgelehnt.',
    address: 'Der Mailserver hat den Absender oder den Empfänger abgelehnt.',
    text: 'Der Mailserver hat die E-Mail abgelehnt.',
    noServer: 'Der Worker hat keinen Mailserver.',
    other: 'Die E-Mail konnte nicht gesendet werden.',
  },
  list: {
    title: 'Abgefangene E-Mails',
    single: 'Abgefangene E-Mail',
    intro: 'Von der App während der Entwicklung gesendet, neueste zuerst. Sie bleiben eine Woche.',
    subject: 'Betreff',
    recipient: 'Empfänger',
    any: 'Alle Adressen',
    kind: 'Vorlage',
    at: 'Zeitpunkt',
    byCode: 'von der App',
    noneFound: 'Keine E-Mail an diese Adresse',
    noneFoundHint: 'Ändern oder leeren Sie die Suche.',
    none: 'Noch wurde keine E-Mail abgefangen',
    noneHint:
      'Ohne Mailserver werden E-Mails nicht gesendet, sondern hier aufbewahrt: Registrieren Sie zum Beispiel einen Benutzer oder rufen Sie dies auf:',
    withServer: 'Damit sie stattdessen gesendet werden, setzen Sie',
  },
};
