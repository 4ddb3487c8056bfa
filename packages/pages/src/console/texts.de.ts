import { de as components } from './components/texts.de.ts';
import { de as editors } from './data/editors/texts.de.ts';
import { de as imports } from './data/list/import/texts.de.ts';
import { de as list } from './data/list/texts.de.ts';
import { de as record } from './data/record/texts.de.ts';
import { de as data } from './data/texts.de.ts';
import { de as overview } from './overview/texts.de.ts';
import { de as shell } from './shell/texts.de.ts';
import type { ConsoleTexts } from './texts.ts';

/** The texts in German. */
export const de: ConsoleTexts = { components, shell, overview, data, editors, list, imports, record };
