/**
 * Sends a request to the server, and shows the error if the server refuses it.
 *
 * @param {string} method
 * @param {string} path relative to the path of this page
 * @param {unknown} [body]
 * @returns {Promise<boolean>} whether the request succeeded
 */
export async function request(method, path, body) {
  const fault = document.getElementById('fault');
  fault.hidden = true;
  try {
    const answer = await fetch(`/console/push/${path}`, {
      method,
      ...(body === undefined ? {} : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
    });
    if (answer.ok) return true;
    const { error } = await answer.json();
    const details = Object.entries(error.details ?? {}).map(([name, text]) => `${name}: ${text}`);
    fault.textContent = [error.message, ...details].join(' · ');
  } catch {
    fault.textContent = 'The server cannot be reached.';
  }
  fault.hidden = false;
  return false;
}
