import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { sentenceCase } from '../data/format.js';
import { app } from '../data/schema.js';
import { place, usePageTitle } from '../router.js';
import { confirmAction, showError, showToast } from './feedback.js';

/**
 * A tab with several sections: their links beside the page, or above it on narrow screens.
 *
 * @param {{ label: string, sections: { path: string, label: string, count?: number }[], children: any }} props `path`: the full path, such as
 *   `/console/webhooks/events`; pages below a path belong to it
 */
export function TabLayout({ label, sections, children }) {
  const { path } = place.value;
  const [current] = sections
    .filter((one) => path === one.path || path.startsWith(`${one.path}/`))
    .toSorted((a, b) => b.path.length - a.path.length);
  const nav = useRef(null);
  useEffect(() => {
    // On a narrow screen the links are a row that may be wider than the screen.
    const link = nav.current?.querySelector('[aria-current]');
    if (link) nav.current.scrollLeft = link.offsetLeft - (nav.current.clientWidth - link.offsetWidth) / 2;
  }, [current?.path]);
  return html`<div class="layout with-sections">
    <nav class="sections" ref=${nav} aria-label=${label}>
      ${sections.map(
        (section) => html`<a
          key=${section.path}
          href=${section.path}
          aria-current=${section === current ? 'page' : undefined}
        >
          ${section.label}${section.count > 0 && html`<span class="badge-count">${section.count}</span>`}
        </a>`,
      )}
    </nav>
    <div class="content">${children}</div>
  </div>`;
}

/**
 * A page of a tab: its heading, what it is for, and its actions. It also names the page in the title of the document.
 *
 * @param {{ title: string, intro?: any, actions?: any, back?: { href: string, label: string }, children: any }} props
 */
export function Page({ title, intro, actions, back, children }) {
  usePageTitle(title, app.value.name);
  return html`<main id="main" class="page tab-page">
    ${back && html`<nav class="back" aria-label="Back"><a href=${back.href}>← ${back.label}</a></nav>`}
    <div class="page-head">
      <div>
        <h1 tabindex="-1">${title}</h1>
        ${intro && html`<p class="soft intro-line">${intro}</p>`}
      </div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </div>
    ${children}
  </main>`;
}

/** A part of a page with a heading. @param {{ title: string, actions?: any, children: any }} props */
export function Section({ title, actions, children }) {
  return html`<section class="part" aria-label=${title}>
    <header><h2>${title}</h2>${actions && html`<div class="actions">${actions}</div>`}</header>
    ${children}
  </section>`;
}

/** An empty state: says what will appear here, and how. @param {{ title: string, children?: any }} props */
export function Nothing({ title, children }) {
  return html`<div class="nothing"><h2>${title}</h2>${children}</div>`;
}

/**
 * A state in words, with a colour. It begins with a capital.
 *
 * @param {{ kind: 'good' | 'bad' | 'warn' | 'neutral', children: any }} props
 */
export function Status({ kind, children }) {
  const [first, ...rest] = [children].flat();
  return html`<span class=${`status ${kind}`}>${typeof first === 'string' ? sentenceCase(first) : first}${rest}</span>`;
}

/**
 * A number with its name and a note, within an element of the class `figures`.
 *
 * @param {{ label: string, value: any, note?: any, href?: string, kind?: 'good' | 'bad' | 'warn' | '' }} props `href`: the list of what is
 *   counted; `kind`: the colour of the number
 */
export function Figure({ label, value, note, href, kind = '' }) {
  const content = html`<span class="figure-label">${label}</span><b>${typeof value === 'number' ? value.toLocaleString('en') : value}</b>
    ${note && html`<span class="soft">${note}</span>`}`;
  return href === undefined
    ? html`<div class=${`figure ${kind}`}>${content}</div>`
    : html`<a class=${`figure ${kind}`} href=${href}>${content}</a>`;
}

/**
 * Two or more views of the same content, of which one is chosen.
 *
 * @param {{ label: string, options: [value: string, text: string][], value: string, onChange: (value: string) => unknown }} props `label`: the
 *   accessible name of the buttons together
 */
export function Choice({ label, options, value, onChange }) {
  return html`<div class="choice" role="group" aria-label=${label}>
    ${options.map(
      ([option, text]) => html`<button
        key=${option}
        type="button"
        aria-pressed=${option === value ? 'true' : 'false'}
        onClick=${() => onChange(option)}
      >
        ${text}
      </button>`,
    )}
  </div>`;
}

/** Names with values. @param {{ of: [name: string, value: any][] }} props values that are undefined or null are left out */
export function Facts({ of }) {
  return html`<dl class="facts">
    ${of
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

/**
 * Returns the focus to a button that was disabled meanwhile. If the action has removed the button, its section gets the focus, or the heading of
 * the page.
 */
function restoreFocus(button, section) {
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body) return;
    if (button.isConnected && !button.disabled) button.focus();
    else if (section?.isConnected) {
      section.tabIndex = -1;
      section.focus({ preventScroll: true });
    } else document.querySelector('main h1')?.focus();
  });
}

/**
 * A button that performs an action: it asks before, is disabled meanwhile, and says that the action is done or why it failed.
 *
 * @param {{ children: any, run: () => Promise<unknown>, confirm?: { title: string, text?: string, action: string, isDangerous?: boolean },
 *   done?: string, kind?: 'primary' | 'danger quiet' | 'plain', disabled?: boolean, label?: string }} props `done`: the message after success;
 *   `label`: the accessible name, if the text alone does not say what the action is about
 */
export function ActionButton({ children, run, confirm, done, kind = '', disabled = false, label }) {
  const [isRunning, setRunning] = useState(false);
  const button = useRef(null);
  const perform = async () => {
    if (confirm !== undefined && !(await confirmAction(confirm))) return;
    const { current } = button;
    const section = current.closest('section');
    setRunning(true);
    try {
      await run();
      if (done !== undefined) showToast(done);
    } catch (error) {
      showError(error);
    }
    setRunning(false);
    restoreFocus(current, section);
  };
  return html`<button
    type="button"
    ref=${button}
    class=${kind}
    aria-label=${label}
    aria-busy=${isRunning ? 'true' : undefined}
    disabled=${disabled || isRunning}
    onClick=${perform}
  >
    ${children}
  </button>`;
}
