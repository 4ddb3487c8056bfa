import { html } from 'htm/preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { RequestError } from '../session.js';

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** A time as its distance from now, with the whole time as a tooltip. */
export function Time({ at }) {
  const ms = Date.parse(at) - Date.now();
  const [unit, size] = UNITS.find(([, each]) => Math.abs(ms) >= each) ?? UNITS.at(-1);
  return html`<time datetime=${at} title=${absolute.format(new Date(at))}>${relative.format(Math.round(ms / size), unit)}</time>`;
}

export function Badge({ kind, children }) {
  return html`<span class=${`badge ${kind}`}>${children}</span>`;
}

/** A message about an action; screen readers announce it. An empty one stays in the document, so that the next text is announced. */
export function Notice({ kind = 'info', children }) {
  const isEmpty = children === undefined || children === null || children === false || children === '';
  return html`<div class=${isEmpty ? '' : `notice ${kind}`} role=${kind === 'bad' ? 'alert' : 'status'}>${children}</div>`;
}

/** Runs actions one at a time. `error` is the last one's RequestError; it is cleared by the next. */
export function useAction() {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(undefined);
  const mounted = useRef(true);
  useEffect(
    () => () => {
      mounted.current = false;
    },
    [],
  );
  const run = async (action) => {
    setBusy(true);
    setError(undefined);
    try {
      return await action();
    } catch (caught) {
      if (!(caught instanceof RequestError)) throw caught;
      if (mounted.current) setError(caught);
      return undefined;
    } finally {
      if (mounted.current) setBusy(false);
    }
  };
  return { busy, error, run };
}

/** Reads data when `key` changes, and again with `reload`. */
export function useData(key, read) {
  const [result, setResult] = useState({});
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    read(abort.signal).then(
      (data) => abort.signal.aborted || setResult({ key, data }),
      (error) => {
        if (!abort.signal.aborted) setResult((previous) => ({ ...previous, key, error }));
      },
    );
    return () => abort.abort();
  }, [key, version]);
  return { ...(result.key === key ? result : {}), reload: () => setVersion((count) => count + 1) };
}

/** Copies a text. Where the browser allows no access to the clipboard, as in some frames, the text is selected instead. */
export function CopyButton({ text, target, label }) {
  const [done, setDone] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone('Copied');
    } catch (error) {
      if (!(error instanceof DOMException || error instanceof TypeError)) throw error;
      getSelection().selectAllChildren(target.current);
      setDone('Selected: press Ctrl+C or ⌘C');
    }
  };
  return html`<span class="copy">
    <button type="button" class="small" onClick=${copy} aria-label=${label}>Copy</button>
    <span role="status" class="soft">${done}</span>
  </span>`;
}

/** A text with a button that copies it. */
export function Copyable({ text, label, block = false }) {
  const target = useRef();
  return html`<div class=${block ? 'copyable block' : 'copyable'}>
    ${
      block
        ? html`<pre tabindex="0" role="region" aria-label=${label}><code ref=${target}>${text}</code></pre>`
        : html`<code ref=${target}>${text}</code>`
    }
    <${CopyButton} text=${text} target=${target} label=${`Copy ${label}`} />
  </div>`;
}

/** A button for an action that needs a confirmation, which replaces the button. No dialog: a tall frame could hide it. */
export function ConfirmButton({ label, question, confirm, kind = '', busy, onConfirm }) {
  const [asking, setAsking] = useState(false);
  const first = useRef();
  const opener = useRef();
  const wasAsking = useRef(false);
  useLayoutEffect(() => {
    if (asking) first.current.focus();
    else if (wasAsking.current) opener.current?.focus();
    wasAsking.current = asking;
  }, [asking]);
  if (!asking)
    return html`<button type="button" class=${kind} ref=${opener} disabled=${busy} onClick=${() => setAsking(true)}>${label}</button>`;
  const onKeyDown = ({ key }) => key === 'Escape' && setAsking(false);
  return html`<div class="confirm" role="group" aria-label=${label} onKeyDown=${onKeyDown}>
    <p>${question}</p>
    <div class="row">
      <button type="button" class=${kind === 'danger' ? 'danger solid' : 'primary'} ref=${first} disabled=${busy}
        onClick=${async () => {
          await onConfirm();
          setAsking(false);
        }}>${confirm}</button>
      <button type="button" onClick=${() => setAsking(false)}>Cancel</button>
    </div>
  </div>`;
}

/** A form field with its label, hint and error. `render` gets the attributes that connect the control with them. */
export function Field({ id, label, hint, error, render }) {
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${hint && html`<p class="soft" id=${`${id}-hint`}>${hint}</p>`}
    ${render({ id, 'aria-invalid': error ? 'true' : undefined, 'aria-describedby': described || undefined })}
    ${error && html`<p class="error" id=${`${id}-error`}>${error}</p>`}
  </div>`;
}

/**
 * A heading that gets the focus when its view opens, so that keyboards and screen readers continue there. A frame without the focus does not
 * take it from the page around it.
 */
export function Title({ children, focus = true }) {
  const heading = useRef();
  // Before the view is painted: an effect after it could take the focus from a link that a person has already reached.
  useLayoutEffect(() => {
    if (focus && document.hasFocus()) heading.current.focus({ preventScroll: true });
  }, []);
  return html`<h1 tabindex="-1" ref=${heading}>${children}</h1>`;
}
