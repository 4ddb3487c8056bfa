/** The key in localStorage of the colours that the user chose, for all pages of the console. */
const THEME_KEY = 'belfry.console.theme';

/** The choices: those of the operating system, or always the same. */
const THEMES = ['system', 'light', 'dark'] as const;

export type Theme = (typeof THEMES)[number];

/** Returns the choice of the user. Anything else in the storage counts as `system`. */
export function readTheme(): Theme {
  const stored = localStorage.getItem(THEME_KEY);
  return THEMES.find((theme) => theme === stored) ?? 'system';
}

/** Returns the choice that follows another one, for a button that goes through all of them. */
export const themeAfter = (theme: Theme): Theme => THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';

function applyTheme(theme: Theme) {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Stores a choice and applies it to this page. */
export function chooseTheme(theme: Theme): void {
  localStorage.setItem(THEME_KEY, theme);
  applyTheme(theme);
}

applyTheme(readTheme());
// Other open pages of the console follow.
addEventListener('storage', ({ key }) => {
  if (key === THEME_KEY || key === null) applyTheme(readTheme());
});
