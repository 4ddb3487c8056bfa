import type { Texts } from './texts.en.ts';

/** The texts in German. */
export const de: Texts = {
  language: 'Sprache',
  cancel: 'Abbrechen',
  close: 'Schließen',
  closeMessage: 'Meldung schließen',
  back: 'Zurück',
  copy: 'Kopieren',
  copyLabel: (label) => `${label} kopieren`,
  copied: 'Kopiert',
  copyBlocked: 'Der Browser hat das Kopieren blockiert. Markieren Sie stattdessen den Text.',
  selected: 'Markiert: Drücken Sie Strg+C oder ⌘C',
  role: { label: 'Rolle', hint: 'Der Endpunkt erhält, was Mitglieder mit dieser Rolle lesen dürfen.' },
  headers: {
    legend: 'Header',
    hint: 'Werden mit jeder Nachricht gesendet, zum Beispiel ein Schlüssel, den Ihr Server oder Gateway verlangt.',
    name: (place) => `Name von Header ${place}`,
    value: (name) => `Wert von Header ${name}`,
    example: 'X-Api-Key',
    kept: (mask) => `${mask} (bleibt)`,
    duplicate: 'Verwenden Sie jeden Namen einmal.',
    add: 'Header hinzufügen',
    remove: 'Entfernen',
    removeLabel: (name) => `Header ${name} entfernen`,
  },
};
