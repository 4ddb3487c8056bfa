// Every page loads this script first, under the same name in all versions. While a deployment replaces processes, a page of one version may ask a process
// of the other for its files, which that does not have: then the page is loaded again, until its files and the page are of the same version.

const KEY = 'belfry.reloads';
const FIRST_WAIT_MS = 500;
/** Half a minute in all, because the wait doubles. */
const MAX_RELOADS = 6;

let isLoading = true;
let isWaiting = false;

/** Reads or changes how often the page has been loaded again; undefined in a frame that may store nothing. */
function access<T>(use: (storage: Storage) => T): T | undefined {
  try {
    return use(sessionStorage);
  } catch {
    return undefined;
  }
}

function say(text: string): void {
  const paragraph = document.createElement('p');
  paragraph.setAttribute('role', 'status');
  paragraph.textContent = text;
  (document.body ?? document.documentElement).append(paragraph);
}

function reload(): void {
  const count = access((storage) => Number(storage.getItem(KEY) ?? 0)) ?? MAX_RELOADS;
  if (count >= MAX_RELOADS) {
    access((storage) => storage.removeItem(KEY));
    say('This page cannot be loaded. Reload it in a minute.');
    return;
  }
  access((storage) => storage.setItem(KEY, String(count + 1)));
  if (count > 0) say('This page is being updated. It opens in a moment.');
  setTimeout(() => location.reload(), FIRST_WAIT_MS * 2 ** count);
}

addEventListener(
  'error',
  ({ target }) => {
    // A script also fails if one of its modules is missing. Texts that are preloaded may be missing: the page works in English.
    const isNeeded =
      target instanceof HTMLScriptElement || (target instanceof HTMLLinkElement && target.rel !== 'modulepreload');
    if (!isLoading || isWaiting || !isNeeded) return;
    isWaiting = true;
    reload();
  },
  // Failures of elements do not bubble.
  true,
);
addEventListener('load', () => {
  // What is loaded later belongs to a part of the page, which reports it itself.
  isLoading = false;
  if (!isWaiting) access((storage) => storage.removeItem(KEY));
});
