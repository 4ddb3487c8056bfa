/** Returns a function that runs `work` at the first call and returns its result at every call, also if it failed. */
export function createOnce<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= work();
    return result;
  };
}
