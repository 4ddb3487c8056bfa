import { createInvalidResponseError } from '../request/errors.ts';

/** What this module uses of the XMLHttpRequest of browsers, the only API that reports how much of a body has been sent. */
interface BrowserRequest {
  upload: { onprogress: ((event: { loaded: number }) => void) | null };
  onload: (() => void) | null;
  onerror: (() => void) | null;
  readonly status: number;
  readonly responseText: string;
  readonly responseURL: string;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getAllResponseHeaders(): string;
  send(body: unknown): void;
  abort(): void;
}

/** Statuses of responses without a body, for which `Response` accepts none. */
const BODILESS_STATUSES = new Set([204, 205, 304]);

/** Returns an address as `responseURL` contains it. */
function resolveAddress(target: string): string {
  const { location } = globalThis as { location?: { href: string } };
  const address = new URL(target, location?.href);
  address.hash = '';
  return address.href;
}

function parseHeaders(text: string): Headers {
  const headers = new Headers();
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return headers;
}

/**
 * Creates a `fetch` that reports how many bytes of the body have been sent. Undefined where this is not possible: the client's own `fetch`
 * is used then.
 */
export function createProgressFetch(onSent: (bytes: number) => void): typeof fetch | undefined {
  const { XMLHttpRequest: Request } = globalThis as { XMLHttpRequest?: new () => BrowserRequest };
  if (Request === undefined) return undefined;
  return (target, init = {}) =>
    new Promise((resolve, reject) => {
      const request = new Request();
      request.open(init.method ?? 'GET', String(target));
      new Headers(init.headers).forEach((value, name) => {
        request.setRequestHeader(name, value);
      });
      request.upload.onprogress = ({ loaded }) => onSent(loaded);
      request.onload = () => {
        const { status, responseText, responseURL } = request;
        // The client does not accept redirects, but an XMLHttpRequest follows them.
        if (responseURL !== resolveAddress(String(target))) {
          const response = new Response(null, { status, headers: parseHeaders(request.getAllResponseHeaders()) });
          const name = `${init.method ?? 'GET'} ${String(target)}`;
          reject(createInvalidResponseError(response, name, `a redirect to ${responseURL}`));
          return;
        }
        const body = BODILESS_STATUSES.has(status) ? null : responseText;
        resolve(new Response(body, { status, headers: parseHeaders(request.getAllResponseHeaders()) }));
      };
      request.onerror = () => reject(new TypeError('The connection failed'));
      // The caller has already ended the call with the reason of the signal.
      init.signal?.addEventListener('abort', () => request.abort(), { once: true });
      request.send(init.body);
    });
}
