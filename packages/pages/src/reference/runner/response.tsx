import { useState } from 'preact/hooks';
import { copyText } from '../../kit/copy.tsx';
import { bytesText, durationText } from '../../kit/format.tsx';
import { Icon } from '../../kit/icons.tsx';
import { numberText } from '../../kit/numbers.ts';
import { Choice, Status } from '../../kit/parts.tsx';
import { richText } from '../../kit/rich-text.ts';
import { texts as kitTexts } from '../../kit/texts.ts';
import { isObject } from '../document.ts';
import { saveBlob } from '../save.ts';
import { texts } from '../texts.ts';
import { JsonView } from './json-view.tsx';
import { headerOf, type Received } from './send.ts';

/** Longer texts are cut on the page; they can be copied or saved as a whole. */
const MAX_SHOWN = 200_000;

const kindOf = (status: number) => (status < 300 ? 'good' : status < 400 ? 'neutral' : status < 500 ? 'warn' : 'bad');

function Raw({ text }: { text: string }) {
  const isCut = text.length > MAX_SHOWN;
  return (
    <>
      <pre class="reference-raw" tabindex={0} role="region" aria-label={texts.response.textLabel}>
        <code>{isCut ? text.slice(0, MAX_SHOWN) : text}</code>
      </pre>
      {isCut && <p class="soft">{texts.response.cut(numberText(MAX_SHOWN))}</p>}
    </>
  );
}

function Headers({ headers }: Pick<Received, 'headers'>) {
  return (
    <dl class="reference-headers">
      {headers.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <code>{value}</code>
          </dd>
        </div>
      ))}
    </dl>
  );
}

type View = 'tree' | 'raw' | 'headers';

function Body({ received: { body, bytes, type }, view }: { received: Received; view: View }) {
  switch (body.kind) {
    case 'empty':
      return <p class="soft">{texts.response.empty}</p>;
    case 'file':
      return (
        <p class="reference-file">
          <span>{texts.response.file(type || texts.response.unknownType, bytesText(bytes))}</span>
          <button type="button" onClick={() => saveBlob(body.blob, 'response')}>
            <Icon name="download" />
            {texts.response.save}
          </button>
        </p>
      );
    case 'text':
      return <Raw text={body.text} />;
    case 'json':
      if (view === 'raw') return <Raw text={JSON.stringify(body.json, null, 2)} />;
      return (
        <div class="reference-tree" tabindex={0} role="region" aria-label={texts.response.bodyLabel}>
          <JsonView value={body.json} />
        </div>
      );
  }
}

/** The cursor of the next page of a list. */
function nextPage({ body }: Received): string | undefined {
  const meta = body.kind === 'json' && isObject(body.json) ? body.json.meta : undefined;
  return isObject(meta) && typeof meta.next === 'string' ? meta.next : undefined;
}

/** The result of a request: its status, time and size, its body and headers. */
export function ResponseView({
  received,
  onNext,
}: {
  received: Received;
  /** Shows the next page; undefined: the operation has no pages. */
  onNext: ((cursor: string) => void) | undefined;
}) {
  const { status, statusText, ms, bytes, headers, body } = received;
  const [view, setView] = useState<View>('tree');
  const requestId = headerOf(received, 'x-request-id');
  const next = nextPage(received);
  const isJson = body.kind === 'json';
  const views: [View, string][] = [
    ['tree', isJson ? texts.response.tree : texts.response.body],
    ...(isJson ? [['raw', texts.response.text] satisfies [View, string]] : []),
    ['headers', texts.response.headers(headers.length)],
  ];
  return (
    <section class="reference-response" aria-label={texts.response.label}>
      <p class="reference-result" role="status">
        <Status kind={kindOf(status)}>
          {status} {statusText}
        </Status>
        <span>{durationText(ms)}</span>
        <span>{bytesText(bytes)}</span>
        {requestId && (
          <span class="soft reference-request-id">
            {richText(texts.response.requestId, { id: <code>{requestId}</code> })}
          </span>
        )}
      </p>
      <div class="reference-bar">
        <Choice label={texts.response.view} options={views} value={view} onChange={setView} />
        {next !== undefined && onNext && (
          <button type="button" onClick={() => onNext(next)}>
            {texts.response.next}
          </button>
        )}
        {'text' in body && (
          <button type="button" class="plain" onClick={() => copyText(body.text)}>
            <Icon name="copy" />
            {kitTexts.copy}
          </button>
        )}
      </div>
      {view === 'headers' ? <Headers headers={headers} /> : <Body received={received} view={view} />}
    </section>
  );
}
