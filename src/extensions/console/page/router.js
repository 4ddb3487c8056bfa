import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

/**
 * The page that is shown. All that the user chose is in it, so that every view has a link.
 *
 * @typedef {{ path: string, params: URLSearchParams, state: Record<string, any> }} Place
 */

const readPlace = () => ({
  path: location.pathname,
  params: new URLSearchParams(location.search),
  state: history.state ?? {},
});

/** The current place. Changes with every navigation. */
export const place = signal(readPlace());

/** Asks whether the content may be left; undefined if nothing would be lost. */
let leaveGuard;
/** The position in the session's history, to undo a step that the user refused. */
let position = history.state?.position ?? 0;
/** Whether the next event of the history is the return to a page that the user may not want to leave. */
let isReturning = false;

/**
 * Sets the function that is asked before the page or the viewer changes. Returns a function that removes it.
 *
 * @param {() => Promise<boolean>} guard resolves to whether the page may be left
 */
export function guardLeaving(guard) {
  leaveGuard = guard;
  const warn = (event) => event.preventDefault();
  addEventListener('beforeunload', warn);
  return () => {
    if (leaveGuard === guard) leaveGuard = undefined;
    removeEventListener('beforeunload', warn);
  };
}

/**
 * Names the page in the title of the document, which screen readers and the history show.
 *
 * @param {string} title
 * @param {string} name of the app
 */
export function usePageTitle(title, name) {
  useEffect(() => {
    document.title = `${title} · ${name} console`;
  }, [title, name]);
}

/** A new page gets the focus at its heading, as after the load of a document. */
function focusHeading() {
  requestAnimationFrame(() => document.querySelector('main h1')?.focus({ preventScroll: true }));
  scrollTo(0, 0);
}

/** Whether two places show the same content: the same page, as the same viewer sees it. */
const showSame = (a, b) => a.path === b.path && a.params.get('as') === b.params.get('as');

/**
 * Shows another page.
 *
 * @param {string} href a path of the console
 * @param {{ replace?: boolean, state?: object }} [options] `replace`: without a new entry in the history
 * @returns {Promise<boolean>} false if the user stays, because changes would be lost
 */
export async function navigate(href, { replace = false, state = {} } = {}) {
  const url = new URL(href, location.href);
  const isNewPath = url.pathname !== location.pathname;
  const isLeaving = !showSame({ path: url.pathname, params: url.searchParams }, place.value);
  if (isLeaving && leaveGuard !== undefined && !(await leaveGuard())) return false;
  if (isLeaving) leaveGuard = undefined;
  if (!replace) position++;
  history[replace ? 'replaceState' : 'pushState']({ ...state, position }, '', url);
  place.value = readPlace();
  if (isNewPath) focusHeading();
  return true;
}

/**
 * Changes parameters of the current page; undefined and empty ones are removed.
 *
 * @param {Record<string, string | undefined>} changes
 * @param {{ replace?: boolean, state?: object }} [options]
 */
export function setParams(changes, options) {
  const params = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') params.delete(name);
    else params.set(name, value);
  }
  return navigate(hrefOf(location.pathname, params), options);
}

/** Returns a path with parameters. Brackets stay readable, as in the documentation of filters. */
export function hrefOf(path, params) {
  const text = params.toString().replaceAll('%5B', '[').replaceAll('%5D', ']').replaceAll('%2C', ',');
  return text === '' ? path : `${path}?${text}`;
}

async function handlePopState() {
  if (isReturning) {
    isReturning = false;
    return;
  }
  const target = readPlace();
  const isNewPath = target.path !== place.value.path;
  const targetPosition = target.state.position ?? 0;
  if (!showSame(target, place.value) && leaveGuard !== undefined) {
    // The browser has already changed the address: return to the page with the changes while the user decides.
    const step = targetPosition - position;
    isReturning = true;
    history.go(-step);
    if (!(await leaveGuard())) return;
    leaveGuard = undefined;
    history.go(step);
    return;
  }
  position = targetPosition;
  place.value = target;
  if (isNewPath) focusHeading();
}

/** Whether a click on a link should be handled by the application: an ordinary click on a link to one of its pages. */
function isApplicationLink(event, link, isOwnPath) {
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  const isHere = link.origin === location.origin && !link.hasAttribute('download') && link.target === '';
  return isPlain && isHere && isOwnPath(link.pathname);
}

/**
 * Starts to handle links and the browser's history.
 *
 * @param {(path: string) => boolean} isOwnPath whether the application shows the page at a path; all other links load a document
 */
export function startRouter(isOwnPath) {
  addEventListener('popstate', handlePopState);
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[href]');
    if (event.defaultPrevented || !link || !isApplicationLink(event, link, isOwnPath)) return;
    event.preventDefault();
    navigate(link.href);
  });
}
