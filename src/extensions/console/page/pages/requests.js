/** Sends a request and returns the response if it succeeds; otherwise shows the error and returns undefined. */
async function send(path, options) {
  const errorText = document.getElementById('error');
  errorText.hidden = true;
  try {
    const response = await fetch(path, options);
    if (response.ok) return response;
    const { error } = await response.json();
    const details = Object.entries(error.details ?? {}).map(([name, text]) => `${name}: ${text}`);
    errorText.textContent = [error.message, ...details].join(' · ');
  } catch {
    errorText.textContent = 'The server cannot be reached.';
  }
  errorText.hidden = false;
  return undefined;
}

/**
 * Sends a request to the server, and shows the error if the server refuses it.
 *
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<Response | undefined>} undefined if the request failed
 */
export async function request(method, path, body) {
  const content = { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  return send(path, { method, ...(body === undefined ? {} : content) });
}

/**
 * Reads data from the server; shows the error and returns undefined if that fails.
 *
 * @param {string} path
 * @returns {Promise<any>}
 */
export async function read(path) {
  return (await (await send(path))?.json())?.data;
}

/**
 * Reads data from the server in the background: shows no error and hides none. Returns undefined if that fails.
 *
 * @param {string} path
 * @returns {Promise<any>}
 */
export async function readQuietly(path) {
  const response = await fetch(path).catch(() => undefined);
  return response?.ok ? (await response.json()).data : undefined;
}
