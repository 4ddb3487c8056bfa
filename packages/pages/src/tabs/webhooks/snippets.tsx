import { useState } from 'preact/hooks';
import { Choice, Code } from '../../console/kit.ts';
import { createSnippets } from '../../kit/snippets.ts';
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
