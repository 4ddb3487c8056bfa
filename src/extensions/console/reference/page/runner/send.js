/** Larger texts are offered as a file. */
const MAX_TEXT_BYTES = 2 * 2 ** 20;
const TEXT_TYPE = /^(text\/|application\/(.*\+)?(json|xml|x-ndjson|javascript))/;

/**
 * A response as the page shows it.
 *
 * @typedef {{ status: number, statusText: string, ms: number, bytes: number, headers: [string, string][], type: string, json?: any,
 *   text?: string, blob?: Blob }} Received `blob`: content that is not shown as text
 */

async function readContent(response) {
  const blob = await response.blob();
  const type = response.headers.get('content-type') ?? '';
  const base = { bytes: blob.size, type };
  if (blob.size === 0) return base;
  if (!TEXT_TYPE.test(type) || blob.size > MAX_TEXT_BYTES) return { ...base, blob };
  const text = await blob.text();
  if (!/json/.test(type) || type.includes('ndjson')) return { ...base, text };
  try {
    return { ...base, text, json: JSON.parse(text) };
  } catch {
    return { ...base, text };
  }
}

/**
 * Sends a request of the form to the app. Cookies are never sent, so that the chosen caller alone decides.
 *
 * @param {ReturnType<import('./request.js').buildRequest>} request
 * @param {string | undefined} token
 * @param {AbortSignal} signal
 * @returns {Promise<Received>}
 * @throws TypeError if there is no response, or if a header has characters that HTTP does not allow
 */
export async function sendRequest(request, token, signal) {
  const headers = new Headers(request.headers);
  if (token !== undefined) headers.set('Authorization', `Bearer ${token}`);
  let body = request.json ?? request.file;
  if (request.form !== undefined) {
    body = new FormData();
    for (const [name, value] of request.form) body.append(name, value);
  }
  const start = performance.now();
  const response = await fetch(request.path, {
    method: request.method,
    headers,
    body,
    signal,
    credentials: 'omit',
    cache: 'no-store',
  });
  const content = await readContent(response);
  return {
    ...content,
    status: response.status,
    statusText: response.statusText,
    ms: Math.round(performance.now() - start),
    headers: [...response.headers],
  };
}
