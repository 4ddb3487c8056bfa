/**
 * Sends a request to the server, and shows the error if the server refuses it.
 *
 * @param {string} method
 * @param {string} path relative to the path of this page
 * @param {unknown} [body]
 * @returns {Promise<boolean>} whether the request succeeded
 */
export async function request(method, path, body) {
  const errorText = document.getElementById('error');
  errorText.hidden = true;
  try {
    const response = await fetch(`/console/push/${path}`, {
      method,
      ...(body === undefined ? {} : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
    });
    if (response.ok) return true;
    const { error } = await response.json();
    const details = Object.entries(error.details ?? {}).map(([name, text]) => `${name}: ${text}`);
    errorText.textContent = [error.message, ...details].join(' · ');
  } catch {
    errorText.textContent = 'The server cannot be reached.';
  }
  errorText.hidden = false;
  return false;
}
