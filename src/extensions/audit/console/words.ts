/** Actions whose names do not say well what happened. */
const WORDS: Readonly<Record<string, string>> = {
  updated: 'Changed',
  'auth.login': 'Signed in',
  'security.login_failed': 'Sign-in failed',
  'security.locked_login_attempt': 'Sign-in to a locked account',
  'security.new_device': 'Signed in on a new device',
  'console.revealed': 'Secret value revealed',
  'console.exported': 'Records exported',
  'console.imported': 'Records imported',
  'console.importChecked': 'Import checked',
  'console.uploaded': 'File uploaded',
  'console.mailTested': 'Test e-mail sent',
};
/** Parts of the app that a reader need not know. */
const SILENT_PARTS = new Set(['auth', 'security', 'console']);
const SPELLING: Readonly<Record<string, string>> = { api: 'API', email: 'e-mail' };

/** Returns what an action did, for people: `console.endpointDisabled` is “Endpoint disabled”. */
export function actionInWords(action: string): string {
  const known = Object.hasOwn(WORDS, action) ? WORDS[action] : undefined;
  if (known !== undefined) return known;
  const [part, ...rest] = action.split('.');
  const spoken = rest.length > 0 && SILENT_PARTS.has(part!) ? rest.join(' ') : action;
  const words = spoken.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, ' ').split(/[\s._-]+/);
  const text = words
    .map((word) => word.toLowerCase())
    .map((word) => (Object.hasOwn(SPELLING, word) ? SPELLING[word] : word))
    .join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Returns the choices of a filter by action, by their words. Those with the same words also have their names.
 *
 * @param text says words in the language of the choices
 */
export function actionChoices(
  actions: readonly string[],
  text = (words: string): string => words,
): { action: string; words: string }[] {
  const groups = Map.groupBy(actions, (action) => text(actionInWords(action)));
  return [...groups]
    .flatMap(([words, names]) =>
      names.map((action) => ({ action, words: names.length === 1 ? words : `${words} (${action})` })),
    )
    .sort((a, b) => a.words.localeCompare(b.words, 'en'));
}
