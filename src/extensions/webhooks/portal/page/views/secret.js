import { signal } from '@preact/signals';
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { Copyable } from '../parts/controls.js';
import { createSnippets } from '../parts/snippets.js';

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

/** Code that verifies signatures, with the data of the endpoint. */
export function Verify({ endpoint }) {
  const snippets = createSnippets(endpoint, newSecrets.value[endpoint.id]);
  const names = Object.keys(snippets);
  const [chosen, choose] = useState(names[0]);
  return html`
    <h2>Verify each request</h2>
    <p>Only the server and you know the secret, so a valid signature proves that a request is genuine. The format is
      ${' '}<a href="https://www.standardwebhooks.com" target="_blank" rel="noopener noreferrer">Standard Webhooks</a>. Respond with any 2xx before you process
      the event, and skip a <code>webhook-id</code> that you have processed.</p>
    ${endpoint.publicKey && html`<h3>Public key</h3><${Copyable} text=${endpoint.publicKey} label="the public key" />`}
    <fieldset class="choices"><legend class="visually-hidden">Language</legend>
      ${names.map((name) => html`<label key=${name}><input type="radio" name="language" checked=${name === chosen} onChange=${() => choose(name)} /><span>${name}</span></label>`)}
    </fieldset>
    <${Copyable} block text=${snippets[chosen]} label=${`the code for ${chosen}`} />
  `;
}
