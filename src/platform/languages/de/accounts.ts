import type { Translations } from '../catalogue.ts';

/** Accounts, and the ways to sign in. */
export const accountMessages: Translations = {
  'Invalid email or password': 'E-Mail-Adresse oder Passwort ist falsch',
  'Registration is closed': 'Die Registrierung ist geschlossen',
  'This account is disabled': 'Dieses Konto ist deaktiviert',
  'This account no longer exists': 'Dieses Konto gibt es nicht mehr',
  'There is no such account; it may have been deleted': 'Dieses Konto gibt es nicht; vielleicht wurde es gelöscht',
  'There is no user with this id': 'Es gibt keinen Benutzer mit dieser ID',
  'Must be your current password': 'Muss Ihr aktuelles Passwort sein',
  'Your password must not contain your email address': 'Ihr Passwort darf Ihre E-Mail-Adresse nicht enthalten',
  'Your password must not contain your name': 'Ihr Passwort darf Ihren Namen nicht enthalten',
  'A disabled account gets no reset link; enable the account first':
    'Ein deaktiviertes Konto erhält keinen Link zum Zurücksetzen; aktivieren Sie zuerst das Konto',
  'This account has got {count} reset e-mails; the next one is possible in {minutes} min':
    'Dieses Konto hat {count} E-Mails zum Zurücksetzen erhalten; die nächste ist in {minutes} Min. möglich',
  'This device has already been removed': 'Dieses Gerät wurde bereits entfernt',
  'This session has already ended': 'Diese Sitzung ist bereits beendet',

  // Failed attempts.
  '{what:text}, try again in {minutes:number} minute': '{what}, versuchen Sie es in {minutes} Minute erneut',
  '{what:text}, try again in {minutes:number} minutes': '{what}, versuchen Sie es in {minutes} Minuten erneut',
  'Too many failed sign-ins': 'Zu viele fehlgeschlagene Anmeldungen',
  'Too many wrong codes': 'Zu viele falsche Codes',
  'Too many wrong passwords': 'Zu viele falsche Passwörter',
  'The failed attempts are not known, because Redis cannot be reached':
    'Die fehlgeschlagenen Versuche sind nicht bekannt, weil Redis nicht erreichbar ist',
  'The failed attempts could not be cleared, because Redis cannot be reached; try again':
    'Die fehlgeschlagenen Versuche konnten nicht gelöscht werden, weil Redis nicht erreichbar ist; versuchen Sie es erneut',
  'You cannot clear failed attempts of your own account; ask another administrator':
    'Sie können fehlgeschlagene Versuche Ihres eigenen Kontos nicht löschen; bitten Sie einen anderen Administrator',

  // Power and confirmation.
  'Only a session can do this; an API key cannot be used here':
    'Das ist nur mit einer Sitzung möglich; ein API-Schlüssel lässt sich hier nicht verwenden',
  'An API key cannot be used here': 'Ein API-Schlüssel lässt sich hier nicht verwenden',
  'This kind of credential cannot be used here': 'Diese Art von Zugang lässt sich hier nicht verwenden',
  'This needs the scope "{scope}"': 'Dafür ist der Scope „{scope}“ nötig',
  'This is the last active administrator; make another active user an administrator first':
    'Das ist der letzte aktive Administrator; machen Sie zuerst einen anderen aktiven Benutzer zum Administrator',
  'This user is an administrator. Turn on two-factor login for your own account first, and confirm this with a code':
    'Dieser Benutzer ist Administrator. Schalten Sie zuerst für Ihr eigenes Konto die Zwei-Faktor-Anmeldung ein, und bestätigen Sie dies mit einem Code',
  'Confirm this with your second factor: sign in again, send your password and a code to POST /api/auth/reauthenticate, or confirm with a passkey':
    'Bestätigen Sie dies mit Ihrem zweiten Faktor: Melden Sie sich erneut an, senden Sie Ihr Passwort und einen Code an POST /api/auth/reauthenticate, oder bestätigen Sie mit einem Passkey',
  'Confirm this with your second factor: sign in again, send your password and a code to POST /api/auth/reauthenticate, or confirm with a passkey, or send a code in the field "{field}"':
    'Bestätigen Sie dies mit Ihrem zweiten Faktor: Melden Sie sich erneut an, senden Sie Ihr Passwort und einen Code an POST /api/auth/reauthenticate, bestätigen Sie mit einem Passkey, oder senden Sie einen Code im Feld „{field}“',
  'The owner of this API key has a second factor, which a key cannot confirm; use a session':
    'Der Besitzer dieses API-Schlüssels hat einen zweiten Faktor, den ein Schlüssel nicht bestätigen kann; verwenden Sie eine Sitzung',

  // Two-factor login.
  'This code is not valid': 'Dieser Code ist nicht gültig',
  'Must be a current code that has not been used': 'Muss ein aktueller Code sein, der noch nicht verwendet wurde',
  'Must be the token of a sign-in in progress': 'Muss das Token einer laufenden Anmeldung sein',
  'Two-factor authentication is not enabled': 'Die Zwei-Faktor-Anmeldung ist nicht eingeschaltet',
  'Two-factor authentication is not enabled for this user':
    'Die Zwei-Faktor-Anmeldung ist für diesen Benutzer nicht eingeschaltet',
  'Two-factor authentication is already enabled; disable it first':
    'Die Zwei-Faktor-Anmeldung ist bereits eingeschaltet; schalten Sie sie zuerst aus',
  'There is no enrolment to confirm; start one with POST /api/auth/2fa/enrol':
    'Es gibt keine Einrichtung zu bestätigen; beginnen Sie eine mit POST /api/auth/2fa/enrol',
  'Disable your own two-factor authentication with POST /api/auth/2fa/disable':
    'Schalten Sie Ihre eigene Zwei-Faktor-Anmeldung mit POST /api/auth/2fa/disable aus',
  'Turn off your own two-factor login with your password and a code instead':
    'Schalten Sie Ihre eigene Zwei-Faktor-Anmeldung stattdessen mit Ihrem Passwort und einem Code aus',

  // Passkeys.
  'This sign-in is no longer valid; try again': 'Diese Anmeldung ist nicht mehr gültig; versuchen Sie es erneut',
  'This passkey could not be verified': 'Dieser Passkey konnte nicht geprüft werden',
  'This passkey has already been removed': 'Dieser Passkey wurde bereits entfernt',
  'This passkey is already registered': 'Dieser Passkey ist bereits registriert',
  'This registration is no longer valid; start again': 'Diese Registrierung ist nicht mehr gültig; beginnen Sie neu',
  'This confirmation is no longer valid; start again': 'Diese Bestätigung ist nicht mehr gültig; beginnen Sie neu',
  'There may be a copy of this passkey; sign in in another way, remove it and add a new one':
    'Von diesem Passkey gibt es vielleicht eine Kopie; melden Sie sich auf einem anderen Weg an, entfernen Sie ihn, und fügen Sie einen neuen hinzu',
  'You have no passkey; sign in again instead': 'Sie haben keinen Passkey; melden Sie sich stattdessen erneut an',
  'You can have at most {max} passkeys; remove one first':
    'Sie können höchstens {max} Passkeys haben; entfernen Sie zuerst einen',
  'Confirm with one of your passkeys first': 'Bestätigen Sie zuerst mit einem Ihrer Passkeys',
  'Remove your own passkeys on your account page instead':
    'Entfernen Sie Ihre eigenen Passkeys stattdessen auf Ihrer Kontoseite',
  'Remove your own passkeys with DELETE /api/auth/passkeys/:passkeyId':
    'Entfernen Sie Ihre eigenen Passkeys mit DELETE /api/auth/passkeys/:passkeyId',
  'This user has no passkey': 'Dieser Benutzer hat keinen Passkey',
  'Must be public-key': 'Muss public-key sein',
  'Must be the JSON of a credential': 'Muss das JSON eines Credentials sein',
  'Must be the client data of a passkey': 'Müssen die Client-Daten eines Passkeys sein',
  'Must be the response of a passkey that is registered here':
    'Muss die Antwort eines Passkeys sein, der hier registriert ist',
  'Must be the response of a passkey to these options, with user verification':
    'Muss die Antwort eines Passkeys auf diese Optionen sein, mit Prüfung des Benutzers',
  'Must come from one of the origins that the app allows for passkeys':
    'Muss von einem der Origins kommen, die die App für Passkeys erlaubt',
  'Must not come from a frame in a page of another origin':
    'Darf nicht aus einem Frame in einer Seite eines anderen Origins kommen',

  // E-mail addresses.
  'Send either token or code': 'Senden Sie entweder token oder code',
  'This link or code is invalid or has expired': 'Dieser Link oder Code ist ungültig oder abgelaufen',
  'This link is invalid or has expired': 'Dieser Link ist ungültig oder abgelaufen',
  'Is already your e-mail address': 'Ist bereits Ihre E-Mail-Adresse',
  'Your e-mail address is already verified': 'Ihre E-Mail-Adresse ist bereits bestätigt',
  'The address is already verified': 'Die Adresse ist bereits bestätigt',
  'The address of the account has changed meanwhile; reload':
    'Die Adresse des Kontos hat sich inzwischen geändert; laden Sie neu',
  'This account gets the e-mail with its next sign-in': 'Dieses Konto erhält die E-Mail mit seiner nächsten Anmeldung',
  'Too many e-mails were sent to verify this address; use the newest one, or try again later':
    'Zur Bestätigung dieser Adresse wurden zu viele E-Mails gesendet; verwenden Sie die neueste, oder versuchen Sie es später erneut',

  'If there is an account with this e-mail address, a link to choose a new password is on its way':
    'Wenn es ein Konto mit dieser E-Mail-Adresse gibt, ist ein Link unterwegs, mit dem Sie ein neues Passwort wählen',
  'If you can sign in with this e-mail address, an e-mail with a link and a code is on its way':
    'Wenn Sie sich mit dieser E-Mail-Adresse anmelden können, ist eine E-Mail mit einem Link und einem Code unterwegs',
  'If this address can be used, an e-mail with a link and a code is on its way to it':
    'Wenn diese Adresse verwendet werden kann, ist eine E-Mail mit einem Link und einem Code an sie unterwegs',
  'An e-mail with a link and a code is on its way': 'Eine E-Mail mit einem Link und einem Code ist unterwegs',

  // Providers.
  'There is no such sign-in provider': 'Diesen Anbieter gibt es nicht',
  '{provider} is not available at the moment; try again later':
    '{provider} ist im Moment nicht verfügbar; versuchen Sie es später erneut',
  'This provider is no longer linked': 'Dieser Anbieter ist nicht mehr verknüpft',
  'This provider issues no ID tokens; use the web flow':
    'Dieser Anbieter stellt keine ID-Tokens aus; verwenden Sie den Weg über den Browser',
  'This ID token is not valid': 'Dieses ID-Token ist nicht gültig',
  'Must be a current ID token of this provider for this app, with an unused nonce':
    'Muss ein aktuelles ID-Token dieses Anbieters für diese App sein, mit einer unbenutzten Nonce',
  'This account may not sign in here': 'Mit diesem Konto ist hier keine Anmeldung möglich',
  'This link is no longer valid; start again': 'Dieser Link ist nicht mehr gültig; beginnen Sie neu',
  'This sign-in is no longer valid; sign in again': 'Diese Anmeldung ist nicht mehr gültig; melden Sie sich erneut an',
  'Must be an unused code of at most one minute ago, with the verifier that started it':
    'Muss ein unbenutzter, höchstens eine Minute alter Code sein, mit dem Verifier, mit dem die Anmeldung begann',
  'Must be 43 to 128 letters, digits or - . _ ~': 'Muss aus 43 bis 128 Buchstaben, Ziffern oder - . _ ~ bestehen',
  'Must be the SHA-256 of the code verifier in base64url, 43 characters':
    'Muss der SHA-256 des Code-Verifiers in base64url sein, 43 Zeichen',
  'Is not in redirectUrls of oidc(). It must match one of them character by character':
    'Steht nicht in redirectUrls von oidc(). Muss Zeichen für Zeichen mit einer davon übereinstimmen',
  'The provider did not share a valid e-mail address, which a new account needs':
    'Der Anbieter hat keine gültige E-Mail-Adresse mitgeteilt, die ein neues Konto braucht',
  'There is already an account with this e-mail address; sign in to it, and then link this way to sign in':
    'Es gibt bereits ein Konto mit dieser E-Mail-Adresse; melden Sie sich damit an, und verknüpfen Sie dann diesen Anmeldeweg',
  'This account at the provider is already linked to another user':
    'Dieses Konto beim Anbieter ist bereits mit einem anderen Benutzer verknüpft',
  'This is your only way to sign in; add another one first':
    'Das ist Ihr einziger Anmeldeweg; fügen Sie zuerst einen anderen hinzu',

  // API keys.
  'You can have at most {max} active API keys': 'Sie können höchstens {max} aktive API-Schlüssel haben',
  'The organisation can have at most {max} active API keys; revoke one first':
    'Die Organisation kann höchstens {max} aktive API-Schlüssel haben; widerrufen Sie zuerst einen',
  'Your role does not allow you to create a key with this role: {role}':
    'Ihre Rolle erlaubt Ihnen nicht, einen Schlüssel mit dieser Rolle zu erstellen: {role}',
  'This API key belongs to an organisation and not to a user; GET /api/organisations returns the organisation':
    'Dieser API-Schlüssel gehört einer Organisation und keinem Benutzer; GET /api/organisations gibt die Organisation zurück',
  'Is required, but the API key of an organisation belongs to no user':
    'Ist erforderlich, aber der API-Schlüssel einer Organisation gehört zu keinem Benutzer',
  'This key has already been revoked': 'Dieser Schlüssel wurde bereits widerrufen',
  'Must be an array of scopes': 'Muss ein Array von Scopes sein',
  'Must not contain duplicate scopes: {scopes}': 'Darf keine doppelten Scopes enthalten: {scopes}',
  'Unknown scopes: {scopes}. Valid scopes: {valid}': 'Unbekannte Scopes: {scopes}. Gültige Scopes: {valid}',
  'Must be a whole number from 1 to {max:number}, or null for a key that never expires':
    'Muss eine ganze Zahl von 1 bis {max} sein, oder null für einen Schlüssel, der nie abläuft',
  'status must be one of {values}': 'status muss einer dieser Werte sein: {values}',
  'user must be the id of a user': 'user muss die ID eines Benutzers sein',

  // Import from another system.
  'The id belongs to a deleted user who can still be restored':
    'Die ID gehört einem gelöschten Benutzer, der noch wiederhergestellt werden kann',
  'The id or a unique value already belongs to another user':
    'Die ID oder ein eindeutiger Wert gehört bereits einem anderen Benutzer',
  'Must be 24 hexadecimal digits, or omitted': 'Muss aus 24 Hexadezimalziffern bestehen oder fehlen',
  'Must be a string, or omitted': 'Muss ein Text sein oder fehlen',
  'Must be omitted; pass its hash as passwordHash': 'Muss fehlen; übergeben Sie den Hash als passwordHash',

  // Erasure and export.
  'The last admin cannot be erased': 'Der letzte Administrator kann nicht gelöscht werden',
  'The account is being erased': 'Das Konto wird gerade gelöscht',
  'Erase your own account with POST /api/auth/me/erase': 'Löschen Sie Ihr eigenes Konto mit POST /api/auth/me/erase',
  'Too many requests: exports are limited to {count} per user and day (privacy({ exportsPerDay })). Try again in {seconds} seconds.':
    'Zu viele Anfragen: Exporte sind auf {count} je Benutzer und Tag begrenzt (privacy({ exportsPerDay })). Versuchen Sie es in {seconds} Sekunden erneut.',
};
