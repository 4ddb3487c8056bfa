import { loadTexts } from '../language.ts';
import { en } from './texts.en.ts';

/** The texts in the language of the page. */
export const texts = await loadTexts(en, { de: async () => (await import('./texts.de.ts')).de });
