import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { Dialog, openDialog } from './feedback.js';

/** Asks the administrator for a code of their second factor. @returns {Promise<string | undefined>} undefined if they cancel */
function askForCode(problem) {
  return openDialog(function CodeDialog({ close }) {
    const [code, setCode] = useState('');
    const submit = (event) => {
      event.preventDefault();
      close(code.trim());
    };
    return html`<${Dialog} title="Confirm with your second factor" onClose=${() => close(undefined)}>
      <form class="stack" onSubmit=${submit}>
        <p>This needs a code of your own authenticator app, or a recovery code.</p>
        <label>
          Your code
          <input
            autocomplete="one-time-code"
            spellcheck="false"
            required
            maxlength="64"
            value=${code}
            aria-invalid=${problem === undefined ? undefined : 'true'}
            aria-describedby=${problem === undefined ? undefined : 'second-factor-problem'}
            onInput=${(event) => setCode(event.target.value)}
          />
        </label>
        ${problem && html`<p id="second-factor-problem" class="field-error" role="alert">${problem}</p>`}
        <footer>
          <button type="button" onClick=${() => close(undefined)}>Cancel</button>
          <button type="submit" class="primary">Confirm</button>
        </footer>
      </form>
    <//>`;
  });
}

/**
 * Sends an action. If it needs a code of the administrator's second factor, asks for it until it is right.
 *
 * @param {(body: { code: string } | undefined) => Promise<unknown>} send gets what to add to the body
 * @returns {Promise<boolean>} false if the administrator cancels
 */
export async function sendWithCode(send) {
  let body;
  for (;;) {
    try {
      await send(body);
      return true;
    } catch (error) {
      if (error.details?.code === undefined) throw error;
      const code = await askForCode(body === undefined ? undefined : error.details.code);
      if (code === undefined) return false;
      body = { code };
    }
  }
}
