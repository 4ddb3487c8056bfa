import type { FormRequest } from './request.ts';

/** Larger texts are offered as a file. */
const MAX_TEXT_BYTES = 2 * 2 ** 20;
const TEXT_TYPE = /^(text\/|application\/(.*\+)?(json|xml|x-ndjson|javascript))/;

/** The body of a response. */
export type ReceivedBody =
  | { kind: 'empty' }
  | { kind: 'json'; text: string; json: unknown }
  | { kind: 'text'; text: string }
  | { kind: 'file'; blob: Blob };

/** A response as the page shows it. */
export interface Received {
  status: number;
  statusText: string;
  ms: number;
  bytes: number;
  headers: [name: string, value: string][];
  /** The media type. */
  type: string;
  body: ReceivedBody;
}

/** The value of a header of a response. */
export const headerOf = ({ headers }: Received, wanted: string): string | undefined =>
  headers.find(([name]) => name === wanted)?.[1];

async function readBody(blob: Blob, type: string): Promise<ReceivedBody> {
  if (blob.size === 0) return { kind: 'empty' };
  if (!TEXT_TYPE.test(type) || blob.size > MAX_TEXT_BYTES) return { kind: 'file', blob };
  const text = await blob.text();
  if (!type.includes('json') || type.includes('ndjson')) return { kind: 'text', text };
  try {
    return { kind: 'json', text, json: JSON.parse(text) };
  } catch {
    return { kind: 'text', text };
  }
}

function bodyOf({ json, file, form }: FormRequest): BodyInit | undefined {
  if (form === undefined) return json ?? file;
  const body = new FormData();
  for (const [name, value] of form) body.append(name, value);
  return body;
}

/**
 * Sends a request of the form to the app. Cookies are never sent, so that the chosen caller alone decides.
 *
 * @throws TypeError if there is no response, or if a header has characters that HTTP does not allow
 */
export async function sendRequest(
  request: FormRequest,
  token: string | undefined,
  signal: AbortSignal,
): Promise<Received> {
  const headers = new Headers(request.headers);
  if (token !== undefined) headers.set('Authorization', `Bearer ${token}`);
  const start = performance.now();
  const response = await fetch(request.path, {
    method: request.method,
    headers,
    body: bodyOf(request) ?? null,
    signal,
    credentials: 'omit',
    cache: 'no-store',
  });
  const blob = await response.blob();
  const type = response.headers.get('content-type') ?? '';
  return {
    status: response.status,
    statusText: response.statusText,
    ms: Math.round(performance.now() - start),
    bytes: blob.size,
    headers: [...response.headers],
    type,
    body: await readBody(blob, type),
  };
}
