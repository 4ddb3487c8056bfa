import type { Texts } from './texts.en.ts';

/** The texts in German. */
export const de: Texts = {
  leave: {
    title: 'Ohne Speichern verlassen?',
    text: 'Ihre Änderungen sind nicht gespeichert.',
    action: 'Verlassen',
  },
  clear: 'Leeren',
  tryAgain: 'Erneut versuchen',
  loading: 'Wird geladen',
  showMore: 'Mehr anzeigen',
  pages: 'Seiten',
  newest: 'Neueste',
  older: 'Ältere',
  actions: 'Aktionen',
  records: (resource) => `Datensätze von ${resource}`,
  findUser: 'Name, E-Mail-Adresse oder Id',
  findRecord: (resource) => `${resource} nach Titel oder Id suchen`,
  searching: 'Wird gesucht …',
  noRecord: 'Kein Datensatz gefunden',
  secondFactor: {
    title: 'Mit dem zweiten Faktor bestätigen',
    intro: 'Dafür ist ein Code Ihrer Authenticator-App oder ein Wiederherstellungscode nötig.',
    code: 'Ihr Code',
    confirm: 'Bestätigen',
  },
};
