/**
 * Creates an element. Text children stay text: nothing is ever parsed as HTML.
 *
 * @param {string} tag may include classes: `p.title`
 * @param {Record<string, unknown>} [attributes] `on…` attributes are listeners; undefined, null and false are skipped
 * @param {(Node | string | undefined)[]} children
 */
export function element(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split('.');
  const created = document.createElement(name);
  if (classes.length > 0) created.className = classes.join(' ');
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') created.addEventListener(key.slice(2), value);
    else if (value === true) created.setAttribute(key, '');
    else if (value !== undefined && value !== null && value !== false) created.setAttribute(key, String(value));
  }
  created.append(...children.filter((child) => child !== undefined));
  return created;
}

/** The icon of the app. */
export const appIcon = () => element('img.bell', { src: '/console/assets/icon.svg', alt: '' });

/**
 * Formats a time: `14:05`, with the day if it is not today.
 *
 * @param {'short' | 'medium'} [timeStyle] `medium` adds the seconds
 */
export function timeText(at = Date.now(), timeStyle = 'short') {
  const date = new Date(at);
  const time = date.toLocaleTimeString([], { timeStyle, hourCycle: 'h23' });
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString()} ${time}`;
}

/**
 * Updates the children of an element to match a list. An unchanged item keeps its element, and with it open `<details>` and the focus.
 *
 * @param {HTMLElement} parent
 * @param {{ id: string }[]} items
 * @param {(item: any) => HTMLElement} make
 */
export function updateList(parent, items, make) {
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
