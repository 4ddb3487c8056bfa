import { html, render } from 'htm/preact';
import { useEffect, useErrorBoundary } from 'preact/hooks';
import { blocked, call, onRecentSignInRequired } from './api.js';
import { Dialogs, Toasts } from './components/feedback.js';
import { app } from './data/schema.js';
import { dataTab } from './data/tab.js';
import { navigate, place, startRouter } from './router.js';
import { Header } from './shell/header.js';
import { confirmIdentity, SignIn } from './shell/sign-in.js';

/**
 * The tabs of the application.
 *
 * @typedef {{ id: string, label: string, routes: { path: string, component: any }[], component: any }} Tab `routes`: paths below the
 *   tab's own, with parameters such as `:id`; the first match is shown within `component`
 */
const TABS = [dataTab];
const pathOf = ({ id }) => `/console/${id}`;

function decodeSegment(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the parameters if a path matches a pattern such as `:resource/:id`. */
function matchPath(pattern, path) {
  const parts = pattern.split('/').filter((part) => part !== '');
  const given = path.split('/').filter((part) => part !== '');
  if (parts.length !== given.length) return undefined;
  const params = {};
  for (const [index, part] of parts.entries()) {
    if (part.startsWith(':')) params[part.slice(1)] = decodeSegment(given[index]);
    else if (part !== given[index]) return undefined;
  }
  return params;
}

function findPage(path) {
  const tab = TABS.find((one) => path === pathOf(one) || path.startsWith(`${pathOf(one)}/`));
  if (tab === undefined) return undefined;
  for (const { path: pattern, component } of tab.routes) {
    const params = matchPath(pattern, path.slice(pathOf(tab).length));
    if (params !== undefined) return { tab, Page: component, params };
  }
  return { tab, Page: undefined, params: {} };
}

async function loadApp() {
  blocked.value = { kind: 'loading' };
  try {
    const { data } = await call('/app');
    app.value = data;
    document.title = `${data.name} console`;
    blocked.value = undefined;
  } catch (error) {
    if (error.status === 401) blocked.value = { kind: 'signedOut' };
    else if (error.status === 403) blocked.value = { kind: 'forbidden', error };
    else blocked.value = { kind: 'failed', error };
  }
}

function Gate({ kind, error }) {
  if (kind === 'loading')
    return html`<main class="gate" id="main" aria-busy="true"><p class="soft">Loading…</p></main>`;
  if (kind !== 'failed') return html`<${SignIn} kind=${kind} onDone=${loadApp} />`;
  return html`<main class="gate" id="main">
    <h1 tabindex="-1">The console cannot be loaded</h1>
    <p>${error.message}</p>
    <button type="button" class="primary" onClick=${loadApp}>Try again</button>
  </main>`;
}

function NotFound() {
  return html`<main class="gate" id="main">
    <h1 tabindex="-1">This page does not exist</h1>
    <p><a href="/console/data">Go to the data</a></p>
  </main>`;
}

function Application() {
  const [error, reset] = useErrorBoundary();
  const found = findPage(place.value.path);
  const { Page, tab, params = {} } = found ?? {};
  useEffect(() => {
    if (error !== undefined) reset();
  }, [place.value.path]);
  if (blocked.value !== undefined) return html`<${Gate} ...${blocked.value} />`;
  const content =
    error !== undefined
      ? html`<${Gate} kind="failed" error=${error} />`
      : Page === undefined
        ? html`<${NotFound} />`
        : html`<${tab.component}><${Page} key=${place.value.path} ...${params} /><//>`;
  return html`<a class="skip" href="#main">Skip to the content</a><${Header} />${content}`;
}

onRecentSignInRequired(confirmIdentity);
startRouter(TABS.map(pathOf));
if (location.pathname === '/console') navigate('/console/data', { replace: true });
render(html`<${Application} /><${Dialogs} /><${Toasts} />`, document.getElementById('app'));
loadApp();
