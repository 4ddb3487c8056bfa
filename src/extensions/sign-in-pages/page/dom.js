import { config } from './session.js';

/**
 * Creates an element. Text children stay text: nothing is ever parsed as HTML.
 *
 * @param {string} tag may include classes: `p.hint`
 * @param {Record<string, unknown>} [attributes] functions are listeners: `{ click() {} }`; undefined, null and false are skipped
 * @param {(Node | string | undefined)[]} children
 */
export function element(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split('.');
  const created = document.createElement(name);
  if (classes.length > 0) created.className = classes.join(' ');
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') created.addEventListener(key, value);
    else if (value === true) created.setAttribute(key, '');
    else if (value !== undefined && value !== null && value !== false) created.setAttribute(key, String(value));
  }
  created.append(...children.filter((child) => child !== undefined));
  return created;
}

export const paragraph = (text) => element('p', {}, text);
export const link = (href, text) => element('a', { href }, text);

/** A button that does something other than sending a form. `work` may be asynchronous; meanwhile the button is inactive. */
export function button(text, work, { kind = 'secondary', label } = {}) {
  const created = element(`button.${kind}`, { type: 'button', 'aria-label': label }, text);
  created.addEventListener('click', () => {
    showProblem('', created);
    runOnce(created, work);
  });
  return created;
}

/** Runs asynchronous work of a button. Further clicks do nothing until it ends. The button stays focusable for screen readers. */
export async function runOnce(trigger, work) {
  if (trigger.getAttribute('aria-disabled') === 'true') return;
  trigger.setAttribute('aria-disabled', 'true');
  try {
    await work();
  } catch (error) {
    showProblem(error.message, trigger);
  } finally {
    trigger.removeAttribute('aria-disabled');
  }
}

/** A box with an error, which screen readers announce at once; undefined without one. */
export const problemBox = (text) => (text === undefined ? undefined : element('p.problem', { role: 'alert' }, text));

/** Shows an error below the part of the page that caused it; an empty text removes it. */
export function showProblem(text, trigger) {
  const area = trigger.closest('section, form, dialog, main') ?? document.getElementById('main');
  for (const old of area.querySelectorAll(':scope > .problem')) old.remove();
  if (text !== '') area.append(problemBox(text));
}

/** Has screen readers announce a text without moving the focus. */
export function announce(text) {
  document.getElementById('status').textContent = text;
}

/** Reports success in a section of which the control that had the focus is gone: the focus moves to the heading. */
export function reportDone(text, inside) {
  const heading = inside.closest('section').querySelector('h2');
  heading.tabIndex = -1;
  heading.focus();
  announce(text);
}

let isFirstView = true;

/** Replaces the content of the page. After the first view, the focus moves to the heading. */
export function showView(heading, ...children) {
  const title = element('h1', { tabindex: '-1' }, heading);
  document.getElementById('main').replaceChildren(title, ...children.filter((child) => child !== undefined));
  document.title = `${heading} · ${config.title}`;
  if (!isFirstView) title.focus();
  isFirstView = false;
}

/** A time in the language of the browser. */
export const timeText = (at) => new Date(at).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
