/** The response to a request of a test. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into responses freely
export interface ApiResponse<Body = any> {
  status: number;
  headers: Headers;
  /** The parsed JSON; the text of a response that is not JSON; undefined without a body. */
  body: Body;
}

/** Options of a request. */
export interface RequestOptions {
  headers?: Record<string, string>;
}

/** Sends requests to a test app as one client. `Body` is the type of the response's body. */
export interface TestApi {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses freely
  get<Body = any>(path: string, options?: RequestOptions): Promise<ApiResponse<Body>>;
  /** @param body sent as JSON; undefined sends no body */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses freely
  post<Body = any>(path: string, body?: unknown, options?: RequestOptions): Promise<ApiResponse<Body>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses freely
  patch<Body = any>(path: string, body?: unknown, options?: RequestOptions): Promise<ApiResponse<Body>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses freely
  put<Body = any>(path: string, body?: unknown, options?: RequestOptions): Promise<ApiResponse<Body>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses freely
  delete<Body = any>(path: string, options?: RequestOptions): Promise<ApiResponse<Body>>;
}

function parseBody(text: string, headers: Headers): unknown {
  if (text === '') return undefined;
  return /\bjson\b/.test(headers.get('content-type') ?? '') ? JSON.parse(text) : text;
}

/** Creates the client of an app. @param token the session or API key of the client; undefined: it is signed out */
export function createTestApi(url: string, token?: string): TestApi {
  async function send(method: string, path: string, body: unknown, { headers = {} }: RequestOptions = {}) {
    if (!path.startsWith('/')) throw new Error(`The path of a request must begin with a slash, not "${path}"`);
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
      redirect: 'manual',
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: parseBody(text, response.headers) as never };
  }

  return {
    get: (path, options) => send('GET', path, undefined, options),
    post: (path, body, options) => send('POST', path, body, options),
    patch: (path, body, options) => send('PATCH', path, body, options),
    put: (path, body, options) => send('PUT', path, body, options),
    delete: (path, options) => send('DELETE', path, undefined, options),
  };
}
