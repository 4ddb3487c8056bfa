import { useState } from 'preact/hooks';
import { Code } from '../../kit/copy.tsx';
import { Choice } from '../../kit/parts.tsx';
import type { OpenApiDocument } from '../document.ts';
import type { Operation } from '../operations.ts';
import { texts } from '../texts.ts';
import { clientSample } from './client-sample.ts';
import type { FormRequest, Values } from './request.ts';
import { curlSample, fetchSample } from './samples.ts';

const LANGUAGES = ['curl', 'fetch', 'client'] as const;
type Language = (typeof LANGUAGES)[number];
const LABELS: Readonly<Record<Language, string>> = { curl: 'curl', fetch: 'fetch', client: texts.samples.client };
const KEY = 'belfry.console.reference.sample';

/** The code that sends the request of the form. */
export function CodeSamples({
  operation,
  request,
  values,
  document,
}: {
  operation: Operation;
  request: FormRequest;
  values: Values;
  document: OpenApiDocument;
}) {
  const [language, setLanguage] = useState(() => LANGUAGES.find((one) => one === localStorage.getItem(KEY)) ?? 'curl');
  const choose = (next: Language) => {
    localStorage.setItem(KEY, next);
    setLanguage(next);
  };
  const code: Readonly<Record<Language, () => string>> = {
    curl: () => curlSample(operation, request, location.origin),
    fetch: () => fetchSample(operation, request, location.origin),
    client: () => clientSample(operation, request, values, document),
  };
  return (
    <section class="reference-samples" aria-label={texts.samples.label}>
      <Choice
        label={texts.samples.language}
        options={LANGUAGES.map((one) => [one, LABELS[one]])}
        value={language}
        onChange={choose}
      />
      <Code text={code[language]()} label={texts.samples.code(LABELS[language])} />
    </section>
  );
}
