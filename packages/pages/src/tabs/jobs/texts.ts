import { loadTexts } from '../../console/kit.ts';
import { en } from './texts.en.ts';

/** The texts of the Jobs tab in the language of the page. */
export const texts = await loadTexts(en, { de: async () => (await import('./texts.de.ts')).de });
