import type { Texts } from './texts.en.ts';

/** The texts in German. */
export const de: Texts = {
  noResources: {
    title: 'Diese App deklariert noch keine Ressourcen',
    intro:
      'Eine Ressource ist eine Art von Datensatz: Deklarieren Sie ihre Felder, und sie hat eine Tabelle, eine API und hier eine Liste. Fügen Sie Ihrer App eine hinzu:',
    code: 'Deklaration einer Ressource',
  },
  notLoaded: 'Die Beschreibung der App ist noch nicht geladen.',
  findResource: 'Ressource suchen',
  noResource: 'Keine Ressource hat diesen Namen.',
  resources: 'Ressourcen',
  unknownResource: (name) => `Es gibt keine Ressource „${name}“`,
  showResources: 'Ressourcen dieser App anzeigen',
  noValue: 'Kein Wert',
  notSet: 'nicht gesetzt',
  yes: 'Ja',
  no: 'Nein',
  systemFields: {
    id: { label: 'Id', description: 'Die Id des Datensatzes.' },
    createdAt: { label: 'Erstellt', description: 'Wann der Datensatz erstellt wurde.' },
    updatedAt: { label: 'Zuletzt geändert', description: 'Wann der Datensatz zuletzt geändert wurde.' },
    deletedAt: { label: 'Gelöscht', description: 'Wann der Datensatz gelöscht wurde.' },
  },
};
