import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { Copyable } from '../../kit/copy.tsx';
import { Choice } from '../../kit/parts.tsx';
import { createSnippets, LANGUAGES, type Language } from '../../kit/snippets.ts';
import type { Endpoint } from '../responses.ts';

/** The secrets that were created since the page was opened, by endpoint. They are in memory only, and the server shows them only once. */
const newSecrets = signal<Readonly<Record<string, string>>>({});

/** Shows the new secret of an endpoint. */
export function addSecret(id: string, secret: string): void {
  newSecrets.value = { ...newSecrets.value, [id]: secret };
}

/** A new secret, until the user has stored it. */
export function NewSecret({ id }: { id: string }) {
  const secret = newSecrets.value[id];
  if (secret === undefined) return undefined;
  const hide = () => {
    const { [id]: _stored, ...rest } = newSecrets.value;
    newSecrets.value = rest;
  };
  return (
    <section class="card secret" aria-label="New secret">
      <h2>Store this secret now</h2>
      <p>It signs every request to this endpoint, and it is shown only once.</p>
      <Copyable text={secret} label="the secret" />
      <button type="button" onClick={hide}>
        I have stored it
      </button>
    </section>
  );
}

/** Code that verifies signatures, with the data of the endpoint. */
export function Verify({ endpoint }: { endpoint: Endpoint }) {
  const snippets = createSnippets(endpoint, newSecrets.value[endpoint.id]);
  const [chosen, choose] = useState<Language>('Node.js');
  return (
    <>
      <h2>Verify each request</h2>
      <p>
        Only the server and you know the secret, so a valid signature proves that a request is genuine. The format is{' '}
        <a href="https://www.standardwebhooks.com" target="_blank" rel="noopener noreferrer">
          Standard Webhooks
        </a>
        . Respond with any 2xx before you process the event, and skip a <code>webhook-id</code> that you have processed.
      </p>
      {endpoint.publicKey && (
        <>
          <h3>Public key</h3>
          <Copyable text={endpoint.publicKey} label="the public key" />
        </>
      )}
      <Choice label="Language" options={LANGUAGES.map((name) => [name, name])} value={chosen} onChange={choose} />
      <Copyable block text={snippets[chosen]} label={`the code for ${chosen}`} />
    </>
  );
}
