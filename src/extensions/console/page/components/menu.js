import { html } from 'htm/preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { showToast } from './feedback.js';
import { Icon } from './icons.js';

/**
 * A button that opens a panel below it. Escape and a click outside close the panel.
 *
 * @param {{ label: string, icon?: string, children: any, isEnd?: boolean, badge?: number }} props `children`: a function
 *   gets `close`; `title`: the name of the button if its label is not shown on narrow screens
 */
export function Menu({ label, icon, children, isEnd = false, badge }) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef(null);
  const button = useRef(null);
  const close = () => setOpen(false);
  useEffect(() => {
    if (!isOpen) return undefined;
    const closeOutside = (event) => {
      if (!root.current?.contains(event.target) && event.target.isConnected) close();
    };
    document.addEventListener('pointerdown', closeOutside);
    return () => document.removeEventListener('pointerdown', closeOutside);
  }, [isOpen]);
  useLayoutEffect(() => {
    if (isOpen) root.current?.querySelector('.panel :is(input, select, button, a)')?.focus();
  }, [isOpen]);
  const handleKey = (event) => {
    if (event.key !== 'Escape' || !isOpen) return;
    event.stopPropagation();
    close();
    button.current?.focus();
  };
  return html`<div class="menu" ref=${root} onKeyDown=${handleKey}>
    <button
      type="button"
      ref=${button}
      aria-expanded=${isOpen ? 'true' : 'false'}
      onClick=${() => setOpen(!isOpen)}
    >
      ${icon && html`<${Icon} name=${icon} />`}<span class="text">${label}</span>
      ${badge > 0 && html`<span class="badge-count">${badge}</span>`}
    </button>
    ${
      isOpen &&
      html`<div class=${`panel ${isEnd ? 'end' : ''}`} role="group" aria-label=${label}>
        ${typeof children === 'function' ? children(close) : children}
      </div>`
    }
  </div>`;
}

/** Copies a text, and says so. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    showToast('Copied');
  } catch {
    showToast('The browser blocked copying. Select the text instead.', { kind: 'error' });
  }
}

/** A text such as JSON or a command, with a button that copies it. */
export function Code({ text, label }) {
  return html`<div class="code">
    <pre tabindex="0" role="region" aria-label=${label}><code>${text}</code></pre>
    <button type="button" onClick=${() => copyText(text)}><${Icon} name="copy" />Copy</button>
  </div>`;
}

/** Whether keys are shortcuts now, because no control uses them. */
export const isTyping = (event) =>
  event.ctrlKey ||
  event.metaKey ||
  event.altKey ||
  event.target.closest?.('input, textarea, select, dialog, [contenteditable], .panel') !== null;
