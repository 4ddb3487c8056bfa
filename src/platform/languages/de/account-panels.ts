import type { Translations } from '../catalogue.ts';

/** What the console shows of an account, and the pages about many accounts. */
export const accountPanelMessages: Translations = {
  // Columns and facts of several panels.
  Account: 'Konto',
  Action: 'Aktion',
  Added: 'Hinzugefügt',
  Address: 'Adresse',
  By: 'Von',
  Device: 'Gerät',
  'E-mail address': 'E-Mail-Adresse',
  Expires: 'Läuft ab',
  'Failed sign-ins': 'Fehlgeschlagene Anmeldungen',
  Kind: 'Art',
  'Last used': 'Zuletzt verwendet',
  Locked: 'Gesperrt',
  'Locked until': 'Gesperrt bis',
  Name: 'Name',
  None: 'Keine',
  On: 'Ein',
  Record: 'Datensatz',
  Role: 'Rolle',
  Roles: 'Rollen',
  Sent: 'Gesendet',
  Since: 'Seit',
  State: 'Zustand',
  Status: 'Status',
  Time: 'Zeit',
  Via: 'Über',
  Remove: 'Entfernen',
  Revoke: 'Widerrufen',
  Unlock: 'Entsperren',
  'This part could not be read. The log of the server has the reason.':
    'Dieser Teil konnte nicht gelesen werden. Der Grund steht im Log des Servers.',

  // Password and failed sign-ins.
  Password: 'Passwort',
  'Password and failed sign-ins': 'Passwort und fehlgeschlagene Anmeldungen',
  Set: 'Gesetzt',
  'Not set': 'Nicht gesetzt',
  '{count:number} of {max:number}': '{count} von {max}',
  '{count:number} of {max:number} before a lock': '{count} von {max} bis zur Sperre',
  'Failed password confirmations': 'Fehlgeschlagene Bestätigungen mit dem Passwort',
  'Wrong codes from e-mails': 'Falsche Codes aus E-Mails',
  'Send a reset link': 'Link zum Zurücksetzen senden',
  'Send a link to set a new password?': 'Einen Link senden, um ein neues Passwort zu setzen?',
  'The link goes to the e-mail address of the account. The password stays until the user sets a new one.':
    'Der Link geht an die E-Mail-Adresse des Kontos. Das Passwort gilt weiter, bis der Benutzer ein neues setzt.',
  'The e-mail with the link is on its way': 'Die E-Mail mit dem Link ist unterwegs',
  'The user can try again': 'Der Benutzer kann es erneut versuchen',
  'After {attempts} failed sign-ins within {minutes} minutes, an e-mail address is locked for {lock} minutes. Addresses are stored as hashes, so look up one at a time.':
    'Nach {attempts} fehlgeschlagenen Anmeldungen innerhalb von {minutes} Minuten ist eine E-Mail-Adresse für {lock} Minuten gesperrt. Adressen sind als Hashes gespeichert, darum lässt sich immer nur eine nachschlagen.',
  'Enter an e-mail address to see its failed sign-ins, whether or not it has an account.':
    'Geben Sie eine E-Mail-Adresse ein, um ihre fehlgeschlagenen Anmeldungen zu sehen, ob sie ein Konto hat oder nicht.',
  'ada@example.com': 'ada@example.com',
  'The address can be used to sign in again': 'Mit der Adresse ist die Anmeldung wieder möglich',

  // Sessions and devices.
  Sessions: 'Sitzungen',
  'Sign-in': 'Anmeldung',
  Started: 'Begonnen',
  'Live sessions': 'Laufende Sitzungen',
  'Last active': 'Zuletzt aktiv',
  'Not signed in anywhere. A session appears here after each sign-in, until it ends or expires.':
    'Nirgends angemeldet. Nach jeder Anmeldung erscheint hier eine Sitzung, bis sie endet oder abläuft.',
  End: 'Beenden',
  'End this session?': 'Diese Sitzung beenden?',
  'The device is signed out at once and gets no more pushes.':
    'Das Gerät wird sofort abgemeldet und erhält keine Pushes mehr.',
  'The session has ended': 'Die Sitzung ist beendet',
  'End all sessions': 'Alle Sitzungen beenden',
  'End all sessions?': 'Alle Sitzungen beenden?',
  'The user is signed out everywhere at once, and their data exports are removed. API keys and webhooks stay.':
    'Der Benutzer wird sofort überall abgemeldet, und seine Datenexporte werden entfernt. API-Schlüssel und Webhooks bleiben.',
  'All sessions have ended': 'Alle Sitzungen sind beendet',
  'Push devices': 'Push-Geräte',
  Platform: 'Plattform',
  'App version': 'Version der App',
  Token: 'Token',
  'Last registered': 'Zuletzt registriert',
  'Receives no push notifications. A device appears here as soon as the app registers it.':
    'Erhält keine Push-Nachrichten. Ein Gerät erscheint hier, sobald die App es registriert.',
  'Remove this device?': 'Dieses Gerät entfernen?',
  'It gets no more pushes until the app registers it again. The session of the device stays.':
    'Es erhält keine Pushes mehr, bis die App es wieder registriert. Die Sitzung des Geräts bleibt.',
  'The device is removed': 'Das Gerät ist entfernt',
  'Known devices': 'Bekannte Geräte',
  'None yet. A sign-in from a device that is not known sends the user an e-mail.':
    'Noch keine. Bei einer Anmeldung von einem unbekannten Gerät erhält der Benutzer eine E-Mail.',
  'First seen': 'Zuerst gesehen',
  'Last sign-in': 'Letzte Anmeldung',

  // Second factor and passkeys.
  'Two-factor': 'Zwei-Faktor',
  'Two-factor login': 'Zwei-Faktor-Anmeldung',
  'Off. Users turn it on with POST /api/auth/2fa/enrol and a code of their authenticator app.':
    'Ausgeschaltet. Benutzer schalten sie mit POST /api/auth/2fa/enrol und einem Code ihrer Authenticator-App ein.',
  'On since': 'Ein seit',
  'Recovery codes left': 'Übrige Wiederherstellungscodes',
  'Wrong codes in a row': 'Falsche Codes in Folge',
  'Clear wrong codes': 'Falsche Codes löschen',
  'The user can enter codes again': 'Der Benutzer kann wieder Codes eingeben',
  'Reset two-factor login': 'Zwei-Faktor-Anmeldung zurücksetzen',
  'Turn two-factor login off for this user?': 'Die Zwei-Faktor-Anmeldung für diesen Benutzer ausschalten?',
  'Do this only after the user has proved who they are in another way: afterwards, their password alone is enough to sign in. Their recovery codes stop working, and they get an e-mail if security mails are on.':
    'Tun Sie dies nur, wenn der Benutzer sich auf einem anderen Weg ausgewiesen hat: Danach genügt das Passwort allein für die Anmeldung. Die Wiederherstellungscodes gelten nicht mehr, und der Benutzer erhält eine E-Mail, wenn Sicherheits-E-Mails eingeschaltet sind.',
  'Two-factor login is off for this user': 'Die Zwei-Faktor-Anmeldung ist für diesen Benutzer ausgeschaltet',
  Passkeys: 'Passkeys',
  'None. Users add a passkey on the account page, or with POST /api/auth/passkeys/options.':
    'Keine. Benutzer fügen einen Passkey auf der Kontoseite oder mit POST /api/auth/passkeys/options hinzu.',
  'Synced between devices': 'Zwischen Geräten synchronisiert',
  'On one device': 'Auf einem Gerät',
  'Remove this passkey?': 'Diesen Passkey entfernen?',
  'It can no longer be used to sign in or as a second factor. If it is the only way to sign in, send the user a password reset link. They get an e-mail if security mails are on.':
    'Er lässt sich nicht mehr für die Anmeldung oder als zweiter Faktor verwenden. Wenn er der einzige Anmeldeweg ist, senden Sie dem Benutzer einen Link zum Zurücksetzen des Passworts. Der Benutzer erhält eine E-Mail, wenn Sicherheits-E-Mails eingeschaltet sind.',
  'The passkey is removed': 'Der Passkey ist entfernt',

  // E-mail address and providers.
  Verified: 'Bestätigt',
  'Not verified': 'Nicht bestätigt',
  'Next e-mail': 'Nächste E-Mail',
  'Sent at the next sign-in, which waits for it': 'Wird bei der nächsten Anmeldung gesendet, die auf sie wartet',
  'Send the e-mail again': 'E-Mail erneut senden',
  'Mark as verified': 'Als bestätigt markieren',
  'Mark this address as verified?': 'Diese Adresse als bestätigt markieren?',
  'Do this only if you know that the address belongs to the user: verified users may have more rights, and password reset links are trusted.':
    'Tun Sie dies nur, wenn Sie wissen, dass die Adresse dem Benutzer gehört: Bestätigte Benutzer haben vielleicht mehr Rechte, und Links zum Zurücksetzen des Passworts wird vertraut.',
  'The address is marked as verified': 'Die Adresse ist als bestätigt markiert',
  'Sign-in with other providers': 'Anmeldung über andere Anbieter',
  Provider: 'Anbieter',
  'Address there': 'Adresse dort',
  Linked: 'Verknüpft',
  Unlink: 'Verknüpfung lösen',
  'Unlink this provider?': 'Die Verknüpfung mit diesem Anbieter lösen?',
  'The user can no longer sign in with it. If it is their only way to sign in, send them a password reset link.':
    'Der Benutzer kann sich nicht mehr damit anmelden. Wenn es der einzige Anmeldeweg ist, senden Sie ihm einen Link zum Zurücksetzen des Passworts.',
  'The provider is unlinked': 'Die Verknüpfung ist gelöst',

  // API keys, webhooks and the audit trail.
  'API keys': 'API-Schlüssel',
  Key: 'Schlüssel',
  Scopes: 'Scopes',
  'Last address': 'Letzte Adresse',
  active: 'aktiv',
  revoked: 'widerrufen',
  expired: 'abgelaufen',
  'None. Users create keys with POST /api/auth/api-keys.':
    'Keine. Benutzer erstellen Schlüssel mit POST /api/auth/api-keys.',
  'Revoke this API key?': 'Diesen API-Schlüssel widerrufen?',
  'It stops working at once, and so do the webhook endpoints that it created. This cannot be undone.':
    'Er gilt sofort nicht mehr, und auch die Webhook-Endpunkte, die mit ihm angelegt wurden, arbeiten nicht mehr. Das lässt sich nicht rückgängig machen.',
  'The key is revoked': 'Der Schlüssel ist widerrufen',
  'Webhook endpoints': 'Webhook-Endpunkte',
  'None. Users create endpoints with POST /api/webhooks.': 'Keine. Benutzer legen Endpunkte mit POST /api/webhooks an.',
  Enabled: 'Aktiv',
  Disabled: 'Deaktiviert',
  Retrying: 'In Wiederholung',
  Failing: 'Fehlschlagend',
  'Open the webhooks': 'Webhooks öffnen',
  'Recent activity': 'Letzte Aktivität',
  'The audit trail has no entries yet. Sign-ins and changes of the account appear here.':
    'Das Audit-Protokoll hat noch keine Einträge. Anmeldungen und Änderungen des Kontos erscheinen hier.',
  'All entries of this user': 'Alle Einträge dieses Benutzers',

  // Invitations and organisations.
  Invitations: 'Einladungen',
  Pending: 'Offen',
  Expired: 'Abgelaufen',
  Accepted: 'Angenommen',
  'A link by e-mail registers a user with a verified address and with roles. It works for {days} days; expired and accepted invitations are listed for 30 days more.':
    'Ein Link per E-Mail registriert einen Benutzer mit bestätigter Adresse und mit Rollen. Er gilt {days} Tage; abgelaufene und angenommene Einladungen sind noch 30 Tage aufgeführt.',
  'Invited by': 'Eingeladen von',
  'Expires or accepted': 'Läuft ab oder angenommen',
  'Use “Invite a user”, or POST /api/invitations.': 'Verwenden Sie „Benutzer einladen“ oder POST /api/invitations.',
  'Send again': 'Erneut senden',
  'The e-mail with a new link is on its way': 'Die E-Mail mit einem neuen Link ist unterwegs',
  'Revoke this invitation?': 'Diese Einladung widerrufen?',
  'Its link stops working at once.': 'Ihr Link gilt sofort nicht mehr.',
  'The invitation is revoked': 'Die Einladung ist widerrufen',
  'Invite a user': 'Benutzer einladen',
  'In addition to the roles of every new user': 'Zusätzlich zu den Rollen jedes neuen Benutzers',
  Organisations: 'Organisationen',
  Organisation: 'Organisation',
  Member: 'Mitglied',
  Invited: 'Eingeladen',
  'Not a member of any organisation. Managers of an organisation invite or add members.':
    'In keiner Organisation Mitglied. Verwalter einer Organisation laden Mitglieder ein oder fügen sie hinzu.',
  'All organisations': 'Alle Organisationen',
};
