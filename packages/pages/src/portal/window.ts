import { signal } from '@preact/signals';

const TOKEN = '#token=';

/** The parts of the current place: `[]` for the list, `['new']`, or the id of an endpoint and its section. */
export const place = signal(location.hash.startsWith(TOKEN) ? [] : readPlace());

function readPlace(): string[] {
  return location.hash
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '');
}

addEventListener('hashchange', () => {
  if (!location.hash.startsWith(TOKEN)) place.value = readPlace();
});

/** The address of a place. */
export const hrefOf = (...parts: string[]) => `#/${parts.map(encodeURIComponent).join('/')}`;

export function goTo(...parts: string[]): void {
  location.hash = hrefOf(...parts);
}

/** Returns an element of index.html. @throws Error with its selector */
export function getElement(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`#${id}`);
  return element;
}

const { frameAncestors }: { frameAncestors: string[] } = JSON.parse(getElement('config').textContent);

/** Applies the theme that the address names: `?theme=dark` or `?theme=light`. Otherwise the browser's preference decides. */
export function applyTheme(): void {
  const theme = new URLSearchParams(location.search).get('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
}

/** The origin of the page that contains this frame, if the app has named it; undefined otherwise. */
function findEmbeddingOrigin(): string | undefined {
  if (parent === window) return undefined;
  const origin =
    location.ancestorOrigins?.[0] ?? (document.referrer === '' ? undefined : new URL(document.referrer).origin);
  // Without either, the browser refuses a message to an origin that is not the parent's.
  if (origin === undefined) return frameAncestors.length === 1 ? frameAncestors[0] : undefined;
  return frameAncestors.includes(origin) ? origin : undefined;
}

/** Tells the embedding page the height of the content, so that it can resize the frame. Nothing else leaves this page. */
export function reportHeight(): void {
  const origin = findEmbeddingOrigin();
  if (origin === undefined) return;
  const page = getElement('page');
  let reported = 0;
  new ResizeObserver(() => {
    const height = Math.ceil(page.getBoundingClientRect().height);
    if (height === reported) return;
    reported = height;
    parent.postMessage({ type: 'belfry-webhook-portal', height }, origin);
  }).observe(page);
}
