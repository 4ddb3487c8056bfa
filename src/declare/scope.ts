const SCOPE = /^[A-Za-z0-9][\w.-]*(?::[A-Za-z0-9][\w.-]*)*$/;

/** What a scope must look like, in words. */
export const SCOPE_FORM = 'words of letters, digits, -, _ and ., joined by colons, as posts:publish';

/** Whether a route may ask for this scope. */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && SCOPE.test(value);
}
