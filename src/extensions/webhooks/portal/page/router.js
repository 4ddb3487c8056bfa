import { signal } from '@preact/signals';

const TOKEN = '#token=';

/** The parts of the current place: `[]` for the list, `['new']`, or the id of an endpoint and its section. */
export const place = signal(location.hash.startsWith(TOKEN) ? [] : readPlace());

function readPlace() {
  return location.hash
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '');
}

addEventListener('hashchange', () => {
  if (!location.hash.startsWith(TOKEN)) place.value = readPlace();
});

/** The address of a place. */
export const hrefOf = (...parts) => `#/${parts.map(encodeURIComponent).join('/')}`;

export function goTo(...parts) {
  location.hash = hrefOf(...parts);
}
