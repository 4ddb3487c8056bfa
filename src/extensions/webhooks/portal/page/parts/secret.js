import { signal } from '@preact/signals';
import { html } from 'htm/preact';
import { Copyable } from './controls.js';

/** The secrets that were created since the page was opened, by endpoint. They are in memory only, and the server shows them only once. */
export const newSecrets = signal({});

/** A new secret, until the user has stored it. */
export function NewSecret({ id }) {
  const secret = newSecrets.value[id];
  if (secret === undefined) return undefined;
  const hide = () => {
    const { [id]: _stored, ...rest } = newSecrets.value;
    newSecrets.value = rest;
  };
  return html`<section class="notice good secret" aria-label="New secret">
    <h2>Store this secret now</h2>
    <p>It signs every request to this endpoint, and it is shown only once.</p>
    <${Copyable} text=${secret} label="the secret" />
    <button type="button" onClick=${hide}>I have stored it</button>
  </section>`;
}
