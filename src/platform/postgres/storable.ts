/** Message of a text that Postgres cannot hold: NUL, or half of a surrogate pair. */
export const UNSTORABLE = 'Must not contain NUL or broken characters';

/** Whether Postgres can hold a text as it is: no NUL, no lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
