import { useState } from 'preact/hooks';
import { Choice, Code } from '../../console/kit.ts';
import { richText } from '../../kit/rich-text.ts';
import { createPollSnippet, createSnippets } from '../../kit/snippets.ts';
import { texts } from './texts.ts';

/** Code that verifies the signatures of an endpoint with this URL. */
export function Snippets({ url }: { url: string }) {
  const snippets = Object.entries(createSnippets({ url }));
  const [chosen, setChosen] = useState<string>();
  const [language, code] = snippets.find(([name]) => name === chosen) ?? snippets[0] ?? ['', ''];
  return (
    <>
      <Choice
        label={texts.snippets.language}
        options={snippets.map(([name]) => [name, name] as const)}
        value={language}
        onChange={setChosen}
      />
      <Code text={code} label={texts.snippets.code(language)} />
    </>
  );
}

/** How a receiver fetches the messages of an endpoint. */
export function PollingGuide({ id }: { id: string }) {
  const own = texts.endpointPage;
  return (
    <>
      <p class="part-text">
        {richText(own.pollText, {
          poll: <code>GET /api/webhooks/{id}/poll</code>,
          ack: <code>POST /api/webhooks/{id}/ack</code>,
          listen: <code>belfry listen</code>,
        })}
      </p>
      <Code text={createPollSnippet(location.origin, id)} label={own.pollCode} />
    </>
  );
}
