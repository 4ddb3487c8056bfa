/** Returns the number of edits (insert, delete, replace, swap two neighbours) that turn one name into another. */
function computeEditDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const replace = last[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwap = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      row[j] = Math.min(replace, last[j]! + 1, row[j - 1]! + 1, isSwap ? beforeLast[j - 2]! + 1 : Infinity);
    }
    [beforeLast, last] = [last, row];
  }
  return last[to.length]!;
}

/**
 * Suggests the known name that is closest to a misspelled one, as the end of an error message.
 *
 * @returns `. Did you mean "title"?`, or an empty string if no known name is close
 */
export function suggestClosestName(name: string, known: Iterable<string>): string {
  // Declarations in plain JavaScript may contain a name that is not a string.
  const folded = String(name).toLowerCase();
  let best: { name: string; edits: number } | undefined;
  for (const candidate of known) {
    const edits = computeEditDistance(folded, candidate.toLowerCase());
    if (edits <= Math.max(folded.length, candidate.length) / 3 && edits < (best?.edits ?? Infinity))
      best = { name: candidate, edits };
  }
  return best === undefined ? '' : `. Did you mean "${best.name}"?`;
}

/**
 * The end of an error message about an unknown name: the closest known name, or all known names if none is close.
 *
 * @param what the plural noun for the known names, such as `fields`
 * @returns `. Did you mean "title"?` or `; fields: title, body`
 */
export function suggestKnownNames(name: string, what: string, known: Iterable<string>): string {
  // An iterator, such as the keys of a map, can be read only once.
  const names = [...known];
  return suggestClosestName(name, names) || `; ${what}: ${names.join(', ')}`;
}

/**
 * The error messages for options that do not exist.
 *
 * @param given the names of the options
 * @param parent the option that contains them, such as `image`
 */
export function findUnknownOptions(given: Iterable<string>, known: readonly string[], parent?: string): string[] {
  return [...given]
    .filter((name) => !known.includes(name))
    .map((name) => {
      const path = parent === undefined ? name : `${parent}.${name}`;
      return `"${path}" is not an option${suggestKnownNames(name, 'options', known)}`;
    });
}
