/** The languages of the pages, by their names in themselves. Texts in English are always there; those of another language are loaded on demand. */
export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const;

export type Language = keyof typeof LANGUAGES;

/** The key of the choice: of this browser, for all pages of the app, or of this browser tab, for a page that was opened with `?lang=de`. */
const STORED = 'belfry.language';

/** undefined outside of browsers: the modules that need none are tested there, in English. */
const page = typeof document === 'undefined' ? undefined : document.documentElement;

const isLanguage = (text: string | null): text is Language => text !== null && Object.hasOwn(LANGUAGES, text);

/** Returns the language that somebody has chosen; undefined for none. In a frame, the browser may allow no storage. */
function readChoice(): Language | undefined {
  const asked = new URLSearchParams(location.search).get('lang');
  try {
    if (isLanguage(asked)) sessionStorage.setItem(STORED, asked);
    return [asked, sessionStorage.getItem(STORED), localStorage.getItem(STORED)].find(isLanguage);
  } catch {
    return isLanguage(asked) ? asked : undefined;
  }
}

const readLanguage = (): Language =>
  (page && readChoice()) ?? navigator.languages.map((one) => one.split('-')[0] ?? '').find(isLanguage) ?? 'en';

/** The language of the page: the user's choice, else the first one of the browser that the pages have, else English. */
export const language: Language = readLanguage();

/** The locale for dates and numbers: that of the browser in this language, such as `de-AT`, so that formats and texts agree. */
export const locale: string = navigator.languages.find((one) => one.split('-')[0] === language) ?? language;

if (page) page.lang = language;

// All texts of the page at once: each folder waits for its own, one after the other.
for (const { content } of page?.querySelectorAll<HTMLMetaElement>(`meta[name="texts-${language}"]`) ?? [])
  document.head.append(Object.assign(document.createElement('link'), { rel: 'modulepreload', href: content }));

/** Shows all pages in another language from now on. The page is loaded again. */
export function chooseLanguage(chosen: Language): void {
  const url = new URL(location.href);
  url.searchParams.delete('lang');
  try {
    sessionStorage.removeItem(STORED);
    localStorage.setItem(STORED, chosen);
  } catch {
    // Without storage, the address carries the choice.
    url.searchParams.set('lang', chosen);
  }
  history.replaceState(history.state, '', url);
  location.reload();
}

/**
 * Returns the texts of a part of the pages in the language of the page. Their English type makes sure that no text of another language is missing.
 *
 * @example export const texts = await loadTexts(en, { de: async () => (await import('./texts.de.ts')).de });
 */
export async function loadTexts<T>(en: T, others: Record<Exclude<Language, 'en'>, () => Promise<T>>): Promise<T> {
  if (language === 'en') return en;
  try {
    return await others[language]();
  } catch {
    // While a deployment replaces processes, the file may be gone. The page works in English, and reports what else is missing.
    if (page) page.lang = 'en';
    return en;
  }
}
