import { loadTexts } from '../kit/language.ts';
import { en as components } from './components/texts.en.ts';
import { en as editors } from './data/editors/texts.en.ts';
import { en as imports } from './data/list/import/texts.en.ts';
import { en as list } from './data/list/texts.en.ts';
import { en as record } from './data/record/texts.en.ts';
import { en as data } from './data/texts.en.ts';
import { en as overview } from './overview/texts.en.ts';
import { en as shell } from './shell/texts.en.ts';

/** The texts of the console in English, which those of other languages match. */
const en = { components, shell, overview, data, editors, list, imports, record };

export type ConsoleTexts = typeof en;

/** The texts of the console in the language of the page, by folder. They are one file for each language. */
export const texts: ConsoleTexts = await loadTexts(en, { de: async () => (await import('./texts.de.ts')).de });
