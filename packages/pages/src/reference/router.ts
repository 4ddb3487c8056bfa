import { signal } from '@preact/signals';

/** The path of the overview of the public reference. */
export const HOME = '/api/docs';

const readPlace = () => ({ path: location.pathname, params: new URLSearchParams(location.search) });

/** The address of the page. */
export const place = signal(readPlace());

/** Shows the page at the address. A new page gets the focus at its heading, as after the load of a document. */
function update(): void {
  const isNewPath = place.value.path !== location.pathname;
  place.value = readPlace();
  if (isNewPath)
    requestAnimationFrame(() => document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true }));
}

/** Changes the parameter `q` of the address, without a new entry in the history. */
export function search(text: string): void {
  history.replaceState(null, '', text === '' ? location.pathname : `?${new URLSearchParams({ q: text })}`);
  update();
}

/** An ordinary click on a link to a page of the reference. */
function findOwnLink(event: MouseEvent): HTMLAnchorElement | undefined {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (link === null || !isPlain || link.origin !== location.origin || link.hash !== '') return undefined;
  return link.pathname === HOME || link.pathname.startsWith(`${HOME}/`) ? link : undefined;
}

/** Starts to handle links and the history of the browser, so that the page keeps the token from one operation to another. */
export function startRouter(): void {
  addEventListener('popstate', update);
  document.addEventListener('click', (event) => {
    const link = findOwnLink(event);
    if (link === undefined) return;
    event.preventDefault();
    history.pushState(null, '', link.href);
    scrollTo(0, 0);
    update();
  });
}
