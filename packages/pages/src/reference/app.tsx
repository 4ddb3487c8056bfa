import { LanguageSwitch } from '../kit/language-switch.tsx';
import { texts } from './texts.ts';
import '../kit/tokens.css';
import '../kit/base.css';
import '../kit/controls.css';
import '../kit/parts.css';
import '../kit/overlays.css';
import '../kit/frame.css';
import './app.css';
import './layout.css';
import './reference.css';
import './runner/runner.css';
import { signal } from '@preact/signals';
import { render } from 'preact';
import { useEffect, useErrorBoundary, useLayoutEffect } from 'preact/hooks';
import { Dialogs } from '../kit/dialog.tsx';
import { PageFrame, type PageFrameProps } from '../kit/page-frame.tsx';
import { toRequestError } from '../kit/request.ts';
import { Toasts } from '../kit/toasts.tsx';
import type { OpenApiDocument } from './document.ts';
import { OperationList } from './operation-list.tsx';
import { OperationPage } from './operation-page.tsx';
import { Overview } from './overview.tsx';
import { createReference, currentOperation, type Reference, type Site } from './reference.ts';
import { HOME, place, search, startRouter } from './router.ts';
import { createCallers } from './runner/caller.ts';

const APP_TITLE = document.title;

function Page(props: PageFrameProps) {
  const { title } = props;
  // Not `useEffect`: the heading would be shown before the title.
  useLayoutEffect(() => {
    document.title = `${title} · ${APP_TITLE}`;
  }, [title]);
  return <PageFrame {...props} />;
}

const site: Site = {
  home: HOME,
  place,
  search,
  Page,
  callers: createCallers(),
  tokenText: texts.tokenText,
  totalLimit: undefined,
  warnsOfProduction: false,
};

type State = { kind: 'loading' } | { kind: 'failed'; message: string } | { kind: 'ready'; reference: Reference };

const state = signal<State>({ kind: 'loading' });

async function readDocument(): Promise<OpenApiDocument> {
  const response = await fetch('/api/openapi.json');
  if (!response.ok) throw new Error(texts.errors.unreadable(response.status));
  return response.json();
}

async function load(): Promise<void> {
  state.value = { kind: 'loading' };
  try {
    state.value = { kind: 'ready', reference: createReference(await readDocument(), site) };
  } catch (error) {
    state.value = { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}

function Failed({ message }: { message: string }) {
  return (
    <main class="gate" id="main">
      <h1 tabindex={-1}>{texts.errors.notShown}</h1>
      <p>{message}</p>
      <button type="button" class="primary" onClick={load}>
        {texts.tryAgain}
      </button>
    </main>
  );
}

/** The list of all routes beside the overview or an operation. */
function Layout({ reference }: { reference: Reference }) {
  const current = currentOperation(site);
  return (
    <div class={`reference-layout ${current === undefined ? 'with-list' : 'with-operation'}`}>
      <div class="reference-side">
        <OperationList reference={reference} current={current} />
      </div>
      <div class="content">
        {current === undefined ? (
          <Overview reference={reference} />
        ) : (
          <OperationPage key={current} id={current} reference={reference} />
        )}
      </div>
    </div>
  );
}

function Content() {
  const current = state.value;
  switch (current.kind) {
    case 'loading':
      return (
        <main class="gate" id="main" aria-busy="true">
          <p class="soft">{texts.loading}</p>
        </main>
      );
    case 'failed':
      return <Failed message={current.message} />;
    case 'ready':
      return <Layout reference={current.reference} />;
  }
}

function Application() {
  const [error, reset] = useErrorBoundary();
  const path = place.value.path;
  useEffect(() => {
    if (error !== undefined) reset();
  }, [path]);
  return (
    <>
      <a class="skip" href="#main">
        {texts.skip}
      </a>
      <header class="bar">
        <a class="brand" href={HOME}>
          {APP_TITLE}
        </a>
        <LanguageSwitch />
      </header>
      {error === undefined ? <Content /> : <Failed message={toRequestError(error).message} />}
      <Dialogs />
      <Toasts />
    </>
  );
}

const root = document.getElementById('app');
if (root === null) throw new Error('#app');
startRouter();
load();
render(<Application />, root);
