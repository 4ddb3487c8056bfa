/** What decides how npm reaches its registry. */
const NETWORK =
  /^(npm_config_(userconfig|globalconfig|registry|cafile|noproxy|(https_?)?proxy)|(https?|no)_proxy|.*_CA_CERTS)$/i;

/** Returns the variables of this process that decide how npm reaches its registry. */
export function npmNetworkVariables(): Record<string, string> {
  const entries = Object.entries(process.env).filter(([name]) => NETWORK.test(name));
  return Object.fromEntries(entries) as Record<string, string>;
}
