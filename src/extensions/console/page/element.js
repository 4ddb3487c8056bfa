/**
 * Makes an element. Text stays text: nothing here is ever read as HTML.
 *
 * @param {string} tag with classes: `p.title`
 * @param {Record<string, unknown>} [attributes] `on…` are listeners; undefined, null and false are left out
 * @param {(Node | string | undefined)[]} children
 */
export function element(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split('.');
  const made = document.createElement(name);
  if (classes.length > 0) made.className = classes.join(' ');
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, '');
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(key, String(value));
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** The sign of the app. */
export const appIcon = () => element('img.bell', { src: '/console/push/icon.svg', alt: '' });

/** `14:05`; with a day when it was another one. */
export function timeText(at = Date.now()) {
  const date = new Date(at);
  const time = date.toLocaleTimeString([], { timeStyle: 'short', hourCycle: 'h23' });
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString()} ${time}`;
}

/**
 * Keeps the children of an element as a list says: an item that is as it was keeps its element, and with it what is open or in focus.
 *
 * @param {HTMLElement} parent
 * @param {{ id: string }[]} items
 * @param {(item: any) => HTMLElement} make
 */
export function keepList(parent, items, make) {
  const known = new Map([...parent.children].map((child) => [child.dataset.id, child]));
  const elements = items.map((item) => {
    const text = JSON.stringify(item);
    const old = known.get(item.id);
    if (old?.state === text) return old;
    const fresh = make(item);
    fresh.dataset.id = item.id;
    fresh.state = text;
    const open = new Set([...(old?.querySelectorAll('details[open]') ?? [])].map((one) => one.dataset.key));
    for (const one of fresh.querySelectorAll('details')) one.open = open.has(one.dataset.key);
    return fresh;
  });
  const same = elements.length === parent.children.length && elements.every((one, i) => one === parent.children[i]);
  if (!same) parent.replaceChildren(...elements);
}
