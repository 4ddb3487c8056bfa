import { signal } from '@preact/signals';
import { html, render } from 'htm/preact';
import { useEffect, useErrorBoundary, useState } from 'preact/hooks';
import { blocked, call, onRecentSignInRequired } from './api.js';
import { Dialogs, Toasts } from './components/feedback.js';
import { app } from './data/schema.js';
import { dataTab } from './data/tab.js';
import { navigate, place, startRouter } from './router.js';
import { Header } from './shell/header.js';
import { confirmIdentity, SignIn } from './shell/sign-in.js';

/**
 * What a tab shows.
 *
 * @typedef {{ routes: { path: string, component: any }[], component: any }} Tab `routes`: paths below the tab's own, with parameters such as
 *   `:id`; the first match is shown within `component`
 */

/** The tabs that are loaded, by id. The others are loaded when they are opened. */
const loadedTabs = signal({ data: dataTab });

/** Starts to load the page of a tab: its stylesheets before its scripts, so that nothing is shown without style. */
async function loadTab({ id, page }) {
  const addLink = (attributes) => {
    const link = Object.assign(document.createElement('link'), attributes);
    const loaded = new Promise((resolve, reject) => {
      link.onload = resolve;
      link.onerror = () => reject(new Error('A file of this tab cannot be loaded.'));
    });
    document.head.append(link);
    return loaded;
  };
  for (const href of page.scripts) addLink({ rel: 'modulepreload', href }).catch(() => {});
  await Promise.all(page.styles.map((href) => addLink({ rel: 'stylesheet', href })));
  const { tab } = await import(page.entry);
  loadedTabs.value = { ...loadedTabs.value, [id]: tab };
}

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

/** The tab at a path, and its page once the tab is loaded. */
function findPage(path) {
  const link = app.value?.tabs.find((one) => path === one.path || path.startsWith(`${one.path}/`));
  const tab = loadedTabs.value[link?.id];
  for (const { path: pattern, component } of tab?.routes ?? []) {
    const params = matchPath(pattern, path.slice(link.path.length));
    if (params !== undefined) return { link, tab, Page: component, params };
  }
  return { link, tab };
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

function Gate({ kind, error, onRetry = loadApp }) {
  if (kind === 'loading')
    return html`<main class="gate" id="main" aria-busy="true"><p class="soft">Loading…</p></main>`;
  if (kind !== 'failed') return html`<${SignIn} kind=${kind} onDone=${loadApp} />`;
  return html`<main class="gate" id="main">
    <h1 tabindex="-1">This page cannot be shown</h1>
    <p>${error.message}</p>
    <button type="button" class="primary" onClick=${onRetry}>Try again</button>
  </main>`;
}

function NotFound() {
  return html`<main class="gate" id="main">
    <h1 tabindex="-1">This page does not exist</h1>
    <p><a href="/console/data">Go to the data</a></p>
  </main>`;
}

/** Loads a tab, and says if that fails. */
function TabLoader({ link }) {
  const [error, setError] = useState();
  const load = () => {
    setError(undefined);
    loadTab(link).catch(setError);
  };
  useEffect(load, [link.id]);
  return html`<${Gate} kind=${error === undefined ? 'loading' : 'failed'} error=${error} onRetry=${load} />`;
}

function Application() {
  const [error, reset] = useErrorBoundary();
  const { path } = place.value;
  useEffect(() => {
    if (error !== undefined) reset();
  }, [path]);
  if (blocked.value !== undefined) return html`<${Gate} ...${blocked.value} />`;
  const { link, tab, Page, params } = findPage(path);
  let content = html`<${NotFound} />`;
  if (error !== undefined) content = html`<${Gate} kind="failed" error=${error} />`;
  else if (Page !== undefined) content = html`<${tab.component}><${Page} key=${path} ...${params} /><//>`;
  else if (link?.page !== undefined && tab === undefined) content = html`<${TabLoader} key=${link.id} link=${link} />`;
  return html`<a class="skip" href="#main">Skip to the content</a><${Header} />${content}`;
}

onRecentSignInRequired(confirmIdentity);
startRouter((path) => findPage(path).link?.page !== undefined || findPage(path).tab !== undefined);
if (location.pathname === '/console') navigate('/console/data', { replace: true });
render(html`<${Application} /><${Dialogs} /><${Toasts} />`, document.getElementById('app'));
loadApp();
