import { copyText } from '../kit/copy.tsx';
import { IconButton } from '../kit/icons.tsx';
import { richText } from '../kit/rich-text.ts';
import { Access } from './access.tsx';
import type { Operation } from './operations.ts';
import { Body, Parameters } from './parameters.tsx';
import { Method, Paragraphs } from './parts.tsx';
import { hrefOf, type Reference } from './reference.ts';
import { Responses } from './responses.tsx';
import { Runner } from './runner/runner.tsx';
import { texts } from './texts.ts';

/** The path of an operation, whose parameters stand out. */
function PathText({ path }: { path: string }) {
  return (
    <code class="reference-path">
      {path.split(/(\{\w+\})/).map((part) => (part.startsWith('{') ? <b key={part}>{part}</b> : part))}
    </code>
  );
}

/** Leads to the form, which is below the description on narrow screens. */
function showRunner() {
  const form = document.querySelector('.reference-form');
  form?.scrollIntoView();
  form?.querySelector<HTMLElement>('input, select, textarea, button')?.focus({ preventScroll: true });
}

function Route({ method, path, id }: Operation) {
  return (
    <span class="reference-route">
      <Method method={method} />
      <PathText path={path} />
      <IconButton icon="copy" label={texts.page.copyPath} onClick={() => copyText(path)} />
      <span class="soft">{richText(texts.page.operation, { id: <code>{id}</code> })}</span>
    </span>
  );
}

/** Everything about one operation, and the form that sends it. */
function OperationDetails({ operation, reference }: { operation: Operation; reference: Reference }) {
  const { document, site } = reference;
  const { summary, description, isDeprecated } = operation;
  return (
    <site.Page
      title={summary}
      actions={
        <button type="button" class="reference-jump" onClick={showRunner}>
          {texts.page.tryIt}
        </button>
      }
      back={{ href: hrefOf(site), label: texts.page.all }}
      intro={<Route {...operation} />}
    >
      {isDeprecated && <p class="banner warn">{texts.page.deprecated}</p>}
      <div class="reference-columns">
        <div class="reference-facts">
          <Paragraphs text={description} />
          <Access operation={operation} reference={reference} />
          <Parameters operation={operation} document={document} />
          <Body operation={operation} document={document} />
          <Responses operation={operation} document={document} />
        </div>
        <Runner operation={operation} reference={reference} />
      </div>
    </site.Page>
  );
}

/** The page of an operation. It says so if the operation does not exist. */
export function OperationPage({ id, reference }: { id: string; reference: Reference }) {
  const { byId, site } = reference;
  const operation = byId.get(id);
  if (operation !== undefined) return <OperationDetails key={id} operation={operation} reference={reference} />;
  return (
    <site.Page title={texts.page.missing(id)} back={{ href: hrefOf(site), label: texts.page.all }}>
      <p>{texts.page.missingText}</p>
    </site.Page>
  );
}
