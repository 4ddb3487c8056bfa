/** One difference between two versions of the public API. */
export interface Change {
  /** Whether it can break code or clients that use the earlier version. */
  breaking: boolean;
  /** The changed place, for people: `GET /api/posts`, `schema Post in responses`, `belfry: interface App`. */
  place: string;
  /** What changed, and the lines of the change if it is text. */
  text: string;
  /** Names of the change. An entry of the changelog mentions the change if it contains one of them. */
  names: readonly string[];
}

/** Collects the changes of one place. */
export interface Reporter {
  breaking(text: string, ...names: string[]): void;
  compatible(text: string): void;
}

/**
 * Creates a reporter that adds to a list.
 *
 * @param names the names of all changes of this place
 */
export function createReporter(changes: Change[], place: string, names: readonly string[]): Reporter {
  return {
    breaking: (text, ...more) => changes.push({ breaking: true, place, text, names: [...names, ...more] }),
    compatible: (text) => changes.push({ breaking: false, place, text, names }),
  };
}
