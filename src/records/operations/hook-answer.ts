/**
 * What a `before` hook made of the values: what it returned, or the values themselves, which it may have changed.
 *
 * @throws Error for false: other tools take it for a refusal, and the write would go ahead
 */
export function hookResult(returned: unknown, values: object): object {
  if (returned === false) throw new Error('a hook refuses by throwing ApiError; it returned false');
  return typeof returned === 'object' && returned !== null ? returned : values;
}
