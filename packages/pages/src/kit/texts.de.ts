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
};
