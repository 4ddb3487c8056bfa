import type { MailTemplate } from '../message.ts';
import { atHost, layOut, timeOf, within } from './german.ts';
import type { AccountMailKind, MailVariables, SecurityNotice } from './variables.ts';

/** Returns when and from where something happened. */
const whenAndWhere = ({ at, ip }: SecurityNotice) => `am ${timeOf(at)}${ip === '' ? '' : ` von ${ip} aus`}`;

const IF_YOU = 'Wenn Sie das waren, müssen Sie nichts tun.';
const IF_NOT_YOU =
  'Wenn Sie das nicht waren, wählen Sie jetzt ein neues Passwort und beenden Sie Ihre anderen Sitzungen: Möglicherweise hat jemand Zugriff auf Ihr Konto.';

/** Creates the text of an e-mail about a change of an account. `what` ends the sentence “In Ihrem Konto bei app.example.com wurde …”. */
const createNoticeText =
  <About extends SecurityNotice>(subject: string, what: (about: About) => string): MailTemplate<About> =>
  (about) =>
    layOut(subject, [
      `In Ihrem Konto${atHost(about.appHost)} wurde ${whenAndWhere(about)} ${what(about)}.`,
      IF_YOU,
      IF_NOT_YOU,
    ]);

/** The e-mails of accounts in German. As in English, none contains a text that the user chose. */
export const ACCOUNT_TEXTS: { readonly [K in AccountMailKind]: MailTemplate<MailVariables[K]> } = {
  'password-reset': ({ link, minutes }) =>
    layOut('Wählen Sie ein neues Passwort', [
      `Für Ihr Konto bei ${new URL(link).host} wurde ein neues Passwort angefordert.`,
      `Um es zu wählen, öffnen Sie diesen Link innerhalb von ${within(minutes)}. Er funktioniert einmal:`,
      { link, label: 'Neues Passwort wählen' },
      'Wenn Sie das nicht waren, ignorieren Sie diese E-Mail: Ihr Passwort ändert sich nicht.',
    ]),
  'verify-email': ({ link, code, minutes }) =>
    layOut('Bestätigen Sie Ihre E-Mail-Adresse', [
      `Bei ${new URL(link).host} wurde ein Konto mit dieser E-Mail-Adresse erstellt. Um zu bestätigen, dass die Adresse Ihnen gehört, öffnen Sie diesen Link innerhalb von ${within(minutes)}:`,
      { link, label: 'Adresse bestätigen' },
      'Oder geben Sie diesen Code ein:',
      { code },
      'Wenn Sie kein Konto erstellt haben, ignorieren Sie diese E-Mail und geben Sie den Code nicht weiter.',
    ]),
  'change-email': ({ link, code, minutes }) =>
    layOut('Bestätigen Sie Ihre neue E-Mail-Adresse', [
      `Der Inhaber eines Kontos bei ${new URL(link).host} möchte diese E-Mail-Adresse verwenden. Um sie zu bestätigen, öffnen Sie diesen Link innerhalb von ${within(minutes)}:`,
      { link, label: 'Neue Adresse bestätigen' },
      'Oder geben Sie diesen Code ein:',
      { code },
      'Wenn Sie das nicht waren, ignorieren Sie diese E-Mail und geben Sie den Code nicht weiter.',
    ]),
  'email-changed': (about) =>
    layOut('Ihre E-Mail-Adresse wurde geändert', [
      `Die E-Mail-Adresse Ihres Kontos${atHost(about.appHost)} wurde ${whenAndWhere(about)} geändert. E-Mails zum Konto gehen ab jetzt an die neue Adresse.`,
      IF_YOU,
      ...(about.undoLink === undefined
        ? ['Wenn Sie das nicht waren, wenden Sie sich an den Betreiber des Dienstes.']
        : [
            `Wenn Sie das nicht waren, öffnen Sie diesen Link innerhalb von ${within(about.minutes)}. Er stellt diese Adresse wieder her, beendet jede Sitzung und lässt Sie ein neues Passwort wählen:`,
            { link: about.undoLink, label: 'Änderung rückgängig machen' },
          ]),
    ]),
  'email-change-undone': (about) =>
    layOut('Ihre E-Mail-Adresse wurde wiederhergestellt', [
      `Die Änderung der E-Mail-Adresse Ihres Kontos${atHost(about.appHost)} wurde ${whenAndWhere(about)} rückgängig gemacht. Alle Sitzungen sind beendet, und das Passwort gilt nicht mehr.`,
      `Um ein neues Passwort zu wählen, öffnen Sie diesen Link innerhalb von ${within(about.minutes)}. Er funktioniert einmal:`,
      { link: about.link, label: 'Neues Passwort wählen' },
      'Wenn er abgelaufen ist, fordern Sie einen neuen an, als hätten Sie Ihr Passwort vergessen.',
    ]),
  'sign-in': ({ link, code, minutes, isNewAccount }) =>
    layOut(isNewAccount ? 'Erstellen Sie Ihr Konto' : 'Anmelden', [
      `Um ${isNewAccount ? `bei ${new URL(link).host} Ihr Konto zu erstellen und sich anzumelden` : `sich bei ${new URL(link).host} anzumelden`}, öffnen Sie diesen Link innerhalb von ${within(minutes)} auf dem Gerät, auf dem Sie ihn angefordert haben. Er funktioniert einmal:`,
      { link, label: isNewAccount ? 'Konto erstellen' : 'Anmelden' },
      'Oder geben Sie diesen Code ein:',
      { code },
      'Wenn Sie das nicht angefordert haben, ignorieren Sie diese E-Mail und geben Sie den Code nicht weiter.',
    ]),
  invitation: ({ link, minutes, isNewAccount }) =>
    layOut('Sie sind eingeladen', [
      `Sie sind eingeladen, bei ${new URL(link).host} ${isNewAccount ? 'ein Konto zu erstellen' : 'eine Rolle anzunehmen'}. Öffnen Sie diesen Link innerhalb von ${within(minutes)}:`,
      { link, label: 'Einladung annehmen' },
      'Wenn Sie keine Einladung erwarten, ignorieren Sie diese E-Mail.',
    ]),
  'organisation-invitation': ({ link, minutes }) =>
    layOut('Sie sind in eine Organisation eingeladen', [
      `Sie sind eingeladen, bei ${new URL(link).host} einer Organisation beizutreten. Welche es ist, sehen Sie, wenn Sie diesen Link innerhalb von ${within(minutes)} öffnen:`,
      { link, label: 'Einladung ansehen' },
      'Wenn Sie keine Einladung erwarten, ignorieren Sie diese E-Mail.',
    ]),
  'new-device': (about) =>
    layOut('Neue Anmeldung in Ihrem Konto', [
      // The description of a device is in English: `Firefox on Windows`.
      `In Ihrem Konto${atHost(about.appHost)} hat sich ${whenAndWhere(about)} jemand${about.device === '' ? '' : ` mit ${about.device.replace(' on ', ' unter ')}`} angemeldet.`,
      IF_YOU,
      IF_NOT_YOU,
    ]),
  'password-changed': createNoticeText('Ihr Passwort wurde geändert', () => 'das Passwort geändert'),
  'two-factor-enabled': createNoticeText(
    'Die Zwei-Faktor-Anmeldung ist eingeschaltet',
    () => 'die Zwei-Faktor-Anmeldung eingeschaltet',
  ),
  'two-factor-disabled': createNoticeText(
    'Die Zwei-Faktor-Anmeldung ist ausgeschaltet',
    ({ byAdmin }) => `die Zwei-Faktor-Anmeldung ${byAdmin ? 'von einem Administrator ' : ''}ausgeschaltet`,
  ),
  'recovery-code-used': createNoticeText(
    'Ein Wiederherstellungscode wurde verwendet',
    ({ remaining }) => `ein Wiederherstellungscode verwendet (noch ${remaining} übrig)`,
  ),
  'identity-linked': createNoticeText(
    'Ein neuer Anmeldeweg für Ihr Konto',
    ({ provider }) => `die Anmeldung mit ${provider} hinzugefügt`,
  ),
  'identity-removed': createNoticeText(
    'Ein Anmeldeweg für Ihr Konto wurde entfernt',
    ({ provider }) => `die Anmeldung mit ${provider} entfernt`,
  ),
  'passkey-added': createNoticeText('Ihrem Konto wurde ein Passkey hinzugefügt', () => 'ein Passkey hinzugefügt'),
  'passkey-removed': createNoticeText('Aus Ihrem Konto wurde ein Passkey entfernt', () => 'ein Passkey entfernt'),
};
