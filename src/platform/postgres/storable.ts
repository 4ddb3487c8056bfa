/** The message for a text that Postgres cannot store: it contains NUL or half of a surrogate pair. */
export const UNSTORABLE = 'Must not contain NUL or broken characters';

/** Whether Postgres can store a text unchanged: no NUL, no lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
