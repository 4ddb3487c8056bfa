import { signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { consoleName } from './brand.ts';

/** The page that is shown. All that the user chose is in it, so that every view has a link. */
export interface Place {
  path: string;
  params: URLSearchParams;
  /** What `navigate` has been given. It is kept in the history of the browser. */
  state: Readonly<Record<string, unknown>>;
}

interface NavigationOptions {
  /** Without a new entry in the history. */
  replace?: boolean;
  state?: Readonly<Record<string, unknown>>;
}

const readPlace = (): Place => ({
  path: location.pathname,
  params: new URLSearchParams(location.search),
  state: history.state ?? {},
});

/** The current place. Changes with every navigation. */
export const place = signal(readPlace());

/** Asks whether the content may be left; undefined if nothing would be lost. */
let leaveGuard: (() => Promise<boolean>) | undefined;
/** The position in the session's history, to undo a step that the user refused. */
let position: number = history.state?.position ?? 0;
/** Whether the next event of the history is the return to a page that the user may not want to leave. */
let isReturning = false;

/**
 * Sets the function that is asked before the page or the viewer changes. Returns a function that removes it.
 *
 * @param guard resolves to whether the page may be left
 */
export function guardLeaving(guard: () => Promise<boolean>): () => void {
  leaveGuard = guard;
  const warn = (event: Event) => event.preventDefault();
  addEventListener('beforeunload', warn);
  return () => {
    if (leaveGuard === guard) leaveGuard = undefined;
    removeEventListener('beforeunload', warn);
  };
}

/** Names the page and the app in the title of the document, which screen readers and the history show. */
export function usePageTitle(title: string, name: string): void {
  // Not `useEffect`: the heading would be shown before the title.
  useLayoutEffect(() => {
    document.title = `${title} · ${consoleName(name)}`;
  }, [title, name]);
}

/** A new page gets the focus at its heading, as after the load of a document, unless the user is already somewhere in it. */
function focusHeading() {
  const before = document.activeElement;
  requestAnimationFrame(() => {
    const now = document.activeElement;
    if (now === before || now === document.body)
      document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
  });
  scrollTo(0, 0);
}

/** Whether two places show the same content: the same page, as the same viewer sees it. */
const showSame = (a: Pick<Place, 'path' | 'params'>, b: Place) =>
  a.path === b.path && a.params.get('as') === b.params.get('as');

/**
 * Shows another page.
 *
 * @param href a path of the console
 * @returns false if the user stays, because changes would be lost
 */
export async function navigate(
  href: string,
  { replace = false, state = {} }: NavigationOptions = {},
): Promise<boolean> {
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

/** Changes parameters of the current page; undefined and empty ones are removed. */
export function setParams(
  changes: Readonly<Record<string, string | undefined>>,
  options?: NavigationOptions,
): Promise<boolean> {
  const params = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') params.delete(name);
    else params.set(name, value);
  }
  return navigate(hrefOf(location.pathname, params), options);
}

/** Returns a path with parameters. Brackets stay readable, as in the documentation of filters. */
export function hrefOf(path: string, params: URLSearchParams): string {
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
  const targetPosition = typeof target.state.position === 'number' ? target.state.position : 0;
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
function isApplicationLink(event: MouseEvent, link: HTMLAnchorElement, isOwnPath: (path: string) => boolean) {
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  const isHere = link.origin === location.origin && !link.hasAttribute('download') && link.target === '';
  return isPlain && isHere && isOwnPath(link.pathname);
}

/**
 * Starts to handle links and the browser's history.
 *
 * @param isOwnPath whether the application shows the page at a path; all other links load a document
 */
export function startRouter(isOwnPath: (path: string) => boolean): void {
  addEventListener('popstate', handlePopState);
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href]') : null;
    if (event.defaultPrevented || !link || !isApplicationLink(event, link, isOwnPath)) return;
    event.preventDefault();
    navigate(link.href);
  });
}
