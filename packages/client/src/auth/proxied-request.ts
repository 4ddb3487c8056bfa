/** Request headers that the API gets from a page. Everything else stays here: cookies, credentials, and what could name another client. */
const REQUEST_HEADERS = [
  ...['accept', 'accept-language', 'content-type', 'user-agent', 'x-request-id'],
  ...['idempotency-key', 'if-match', 'if-none-match', 'if-range', 'range', 'last-event-id', 'x-organisation'],
  // Resumable uploads.
  ...['tus-resumable', 'upload-length', 'upload-offset', 'upload-metadata', 'upload-defer-length', 'upload-checksum'],
];

/** Headers that the handler itself decides about: no setting can pass them on. */
const RESERVED_HEADERS =
  /^(authorization|cookie|host|origin|referer|forwarded|via|connection|upgrade|te|trailer|(x-forwarded|proxy|sec|x-real)-.*|transfer-encoding|content-length|keep-alive|expect)$/;

/** Response headers that belong to the connection with the API, or would give the API power over the origin of the pages. */
const REFUSED_RESPONSE_HEADERS = [
  ...['set-cookie', 'set-cookie2', 'clear-site-data', 'strict-transport-security', 'alt-svc', 'service-worker-allowed'],
  ...[
    'connection',
    'keep-alive',
    'proxy-authenticate',
    'proxy-connection',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
  ],
  // The body is decoded already.
  ...['content-encoding', 'content-length'],
  // Leads the page elsewhere.
  'refresh',
];

/** Response headers that are instructions for the caches and servers in front of the pages: to store a response, or to send another file. */
const INSTRUCTIONS =
  /^((.+-)?cdn-cache-control|(surrogate|x-accel|access-control)-.*|x-sendfile|x-lighttpd-send-?file)$/;

/** How often a path is decoded to find what it hides. A path that is encoded more often is refused. */
const MAX_DECODINGS = 3;
const ENCODED_ASCII = /%([0-7][0-9a-f])/i;
const ENCODED_ASCII_ALL = new RegExp(ENCODED_ASCII, 'gi');

/** Returns the headers with which a request of a page is passed on. @param further names in addition to the usual ones */
export function toApiHeaders(from: Headers, further: readonly string[]): Headers {
  const headers = new Headers();
  for (const name of [...REQUEST_HEADERS, ...further.map((each) => each.toLowerCase())]) {
    const value = RESERVED_HEADERS.test(name) ? null : from.get(name);
    if (value !== null) headers.set(name, value);
  }
  return headers;
}

/** Returns the headers with which a response of the API is passed on. */
export function toPageHeaders(from: Headers): Headers {
  const headers = new Headers();
  for (const [name, value] of from) {
    if (!REFUSED_RESPONSE_HEADERS.includes(name) && !INSTRUCTIONS.test(name)) headers.append(name, value);
  }
  // The API varies its responses by `Authorization`, which all browsers of this origin share until the cookie is known.
  const isStored = !/\bno-store\b/.test(headers.get('cache-control') ?? '');
  if (isStored) headers.set('cache-control', 'private, no-cache');
  headers.append('vary', 'Cookie');
  return headers;
}

/**
 * Returns the path and query of a URL if it is below `/api`; undefined otherwise. Segments that could lead out of it, however they are
 * encoded, are refused, because a server on the way may decode them.
 */
export function toApiPath(requestUrl: string): string | undefined {
  const { pathname, search } = new URL(requestUrl);
  if (!pathname.startsWith('/api/')) return undefined;
  try {
    decodeURIComponent(pathname);
  } catch {
    return undefined;
  }
  let decoded = pathname;
  for (let round = 0; ENCODED_ASCII.test(decoded); round += 1) {
    if (round === MAX_DECODINGS) return undefined;
    // One character at a time: a percent sign of a value must not hide what else is encoded.
    decoded = decoded.replace(ENCODED_ASCII_ALL, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
  if (decoded.split(/[/\\]/).some((segment) => /^\.{1,2}(;|$)/.test(segment))) return undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: such characters could end the path in another server
  if (/[\0-\x1f\x7f]/.test(decoded)) return undefined;
  return pathname + search;
}

/**
 * Whether a request comes from a page of an origin. Browsers send `Sec-Fetch-Site`, and `Origin` with every request that can change something;
 * pages cannot forge either.
 *
 * @param isSafe whether the request only reads
 */
export function isSameOrigin({ headers }: { headers: Pick<Headers, 'get'> }, origin: string, isSafe: boolean): boolean {
  const site = headers.get('sec-fetch-site');
  const sender = headers.get('origin');
  if (site !== null && site !== 'same-origin') return false;
  return sender === null ? isSafe : sender === origin;
}
