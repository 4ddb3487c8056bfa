/** A read whose result is shared. */
interface SharedRead<T> {
  /** Returns the read in progress, or the last result while it is fresh, or reads again. A read that fails is not kept. */
  (): Promise<T>;
  /** Makes the next call read again. */
  expire(): void;
}

/**
 * Shares the results of a read among all console pages that this process serves. The load on the servers then does not depend on the number
 * of open pages.
 *
 * @param freshMs ms for which a result is reused
 */
export function createSharedRead<T>(read: () => Promise<T>, freshMs: number): SharedRead<T> {
  let last: Promise<T> | undefined;
  let freshUntil = 0;
  const shared = () => {
    if (last !== undefined && performance.now() < freshUntil) return last;
    freshUntil = Number.POSITIVE_INFINITY;
    const current = read();
    last = current;
    const settle = (until: number) => {
      if (last === current) freshUntil = until;
    };
    current.then(
      () => settle(performance.now() + freshMs),
      () => settle(0),
    );
    return current;
  };
  const expire = () => {
    last = undefined;
  };
  return Object.assign(shared, { expire });
}
