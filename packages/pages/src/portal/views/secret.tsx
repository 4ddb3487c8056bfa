import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { Copyable } from '../../kit/copy.tsx';
import { Choice } from '../../kit/parts.tsx';
import { richText } from '../../kit/rich-text.ts';
import { createPollSnippet, createSnippets, LANGUAGES, type Language } from '../../kit/snippets.ts';
import type { Endpoint } from '../responses.ts';
import { texts } from '../texts.ts';

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
    <section class="card secret" aria-label={texts.secret.region}>
      <h2>{texts.secret.heading}</h2>
      <p>{texts.secret.text}</p>
      <Copyable text={secret} label={texts.secret.label} />
      <button type="button" onClick={hide}>
        {texts.secret.stored}
      </button>
    </section>
  );
}

/** How to fetch the messages of a polled endpoint. */
function PollingGuide({ id }: { id: string }) {
  return (
    <>
      <h2>{texts.poll.heading}</h2>
      <p>
        {richText(texts.poll.text, {
          poll: <code>GET /api/webhooks/{id}/poll</code>,
          ack: <code>POST /api/webhooks/{id}/ack</code>,
          listen: <code>belfry listen</code>,
        })}
      </p>
      <Copyable block text={createPollSnippet(location.origin, id)} label={texts.poll.codeLabel} />
    </>
  );
}

/** Code that verifies signatures, with the data of the endpoint. */
export function Verify({ endpoint }: { endpoint: Endpoint }) {
  const { id, url, publicKey } = endpoint;
  const sample = { url: url ?? 'http://localhost:3000/hooks', ...(publicKey !== undefined && { publicKey }) };
  const snippets = createSnippets(sample, newSecrets.value[id]);
  const [chosen, choose] = useState<Language>('Node.js');
  return (
    <>
      {url === null && <PollingGuide id={id} />}
      <h2>{texts.verify.heading}</h2>
      <p>
        {richText(texts.verify.text, {
          format: (
            <a href="https://www.standardwebhooks.com" target="_blank" rel="noopener noreferrer">
              {texts.verify.format}
            </a>
          ),
          id: <code>webhook-id</code>,
        })}
      </p>
      {endpoint.publicKey && (
        <>
          <h3>{texts.verify.publicKey}</h3>
          <Copyable text={endpoint.publicKey} label={texts.verify.publicKeyLabel} />
        </>
      )}
      <Choice
        label={texts.verify.language}
        options={LANGUAGES.map((name) => [name, name])}
        value={chosen}
        onChange={choose}
      />
      <Copyable block text={snippets[chosen]} label={texts.verify.codeLabel(chosen)} />
    </>
  );
}
