/** What the page shows, from the fragment of the URL: `#job=greet&status=failed&after=<id>&run=<id>`. */
export const selection = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

/** Returns the fragment of a selection; members that are undefined or empty are left out. */
export const hrefOf = (members) =>
  `#${new URLSearchParams(Object.entries(members).filter(([, value]) => value !== undefined && value !== ''))}`;
