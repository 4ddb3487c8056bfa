import type { Texts } from './texts.en.ts';

/** The texts in German. */
export const de: Texts = {
  title: 'Übersicht',
  inDevelopment: (app) => `${app}, in der Entwicklung`,
  error: 'Fehler:',
  warning: 'Warnung:',
  everythingWorks: 'Alles funktioniert.',
  needsAttention: 'Erfordert Aufmerksamkeit',
  couldNotBeRead: (part) => `„${part}“ konnte nicht gelesen werden`,
  records: 'Datensätze',
  signIns: 'Letzte Anmeldungen',
  signInsUnread: 'Die Anmeldungen konnten nicht gelesen werden.',
  noSignIns: 'Noch hat sich niemand angemeldet.',
  countUnread: 'Die Anzahl konnte nicht gelesen werden',
  moreThan: 'mehr als',
  newest: (resources) => `Neueste: ${resources}`,
  newestUnread: (resources) => `Die neuesten konnten nicht gelesen werden: ${resources}.`,
  none: (resources) => `Noch keine Datensätze: ${resources}.`,
  newRecord: (resource) => `${resource} anlegen`,
};
