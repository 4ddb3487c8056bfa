import { loadTexts, locale } from '../kit/language.ts';
import { en } from './texts.en.ts';

/** The texts in the language of the page. */
export const texts = await loadTexts(en, { de: async () => (await import('./texts.de.ts')).de });

/** The label of a field of the registration: `displayName` becomes `Display name`. */
export function labelFor(name: string): string {
  const words = name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();
  return new Map(Object.entries(texts.fields)).get(name) ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** A time in the language of the page. */
export const timeText = (at: string): string =>
  new Date(at).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short' });
