import { chooseLanguage, LANGUAGES, type Language } from './language.ts';
import { texts } from './texts.ts';

const CHOICES = Object.entries(LANGUAGES) as [Language, string][];

/** The languages of the pages at their foot, by their names in themselves. */
export function LanguageSwitch() {
  // That of the document, because the texts of the chosen language may be missing.
  const { lang } = document.documentElement;
  return (
    <nav class="languages" aria-label={texts.language}>
      {CHOICES.map(([id, name]) => (
        <button
          key={id}
          type="button"
          lang={id}
          aria-current={id === lang ? 'true' : undefined}
          onClick={() => chooseLanguage(id)}
        >
          {name}
        </button>
      ))}
    </nav>
  );
}
