import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../api.js';
import { userResource } from '../data/schema.js';

const LIMIT = 20;
const TYPING_MS = 200;

/** Finds records by their label or id, newest first without a text. @returns {Promise<{ id: string, label: string }[]>} */
async function findReferences(resource, text, limit = LIMIT) {
  const query = new URLSearchParams({ limit: String(limit), ...(text.trim() === '' ? {} : { q: text.trim() }) });
  return (await call(`/references/${encodeURIComponent(resource)}?${query}`)).data;
}

/** Labels that are known already, by resource and id. */
const knownLabels = new Map();

/** Keeps the label of a record that was chosen, so that showing it needs no request. */
const rememberLabel = (resource, { id, label }) => knownLabels.set(`${resource} ${id}`, label);

/**
 * The label of a record; its id until the label is known, or if there is no such record.
 *
 * @param {string | undefined} resource undefined: nothing is read
 * @param {string} id
 */
export function useReferenceLabel(resource, id) {
  const [, setLoaded] = useState(0);
  const key = `${resource} ${id}`;
  useEffect(() => {
    if (resource === undefined || knownLabels.has(key)) return;
    findReferences(resource, id, 1)
      .then(([found]) => {
        if (found?.id === id) rememberLabel(resource, found);
        setLoaded((count) => count + 1);
      })
      // The id is shown instead.
      .catch(() => undefined);
  }, [key]);
  return knownLabels.get(key) ?? id;
}

/** The found records while the picker is open; undefined while they are read. */
function useFound(resource, text, isOpen) {
  const [found, setFound] = useState({ options: undefined, error: undefined });
  useEffect(() => {
    if (!isOpen) return undefined;
    let isCurrent = true;
    const show = (next) => isCurrent && setFound(next);
    const timer = setTimeout(
      () => {
        findReferences(resource, text)
          .then((options) => show({ options }))
          .catch((error) => show({ options: [], error: error.message }));
      },
      text === '' ? 0 : TYPING_MS,
    );
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [resource, text, isOpen]);
  return found;
}

/**
 * A search field that picks a record. The keyboard works as in every combobox: arrows, Enter, Escape.
 *
 * @param {{ id: string, resource: string, value: string | null, label?: string, onChange: (id: string, label?: string) => void,
 *   disabled?: boolean, invalid?: boolean, describedBy?: string, placeholder?: string }} props `label`: of the value; left out: it is read
 */
export function ReferencePicker({
  id,
  resource,
  value,
  label: givenLabel,
  onChange,
  disabled,
  invalid,
  describedBy,
  placeholder,
}) {
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const list = useRef(null);
  const { options, error } = useFound(resource, text, isOpen);
  const knownLabel = useReferenceLabel(givenLabel === undefined && value ? resource : undefined, value);
  const label = givenLabel ?? knownLabel;
  const choose = (option) => {
    setOpen(false);
    setText('');
    if (option === undefined) return;
    rememberLabel(resource, option);
    onChange(option.id, option.label);
  };
  const move = (step) => {
    const count = options?.length ?? 0;
    if (count === 0) return;
    const next = (active + step + count) % count;
    setActive(next);
    list.current?.children[next]?.scrollIntoView({ block: 'nearest' });
  };
  const handleKey = (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (isOpen) move(event.key === 'ArrowDown' ? 1 : -1);
      else setOpen(true);
    } else if (event.key === 'Enter' && isOpen) {
      event.preventDefault();
      choose(options?.[active]);
    } else if (event.key === 'Escape' && isOpen) {
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
      setText('');
    }
  };
  const shown = isOpen ? text : value === null || value === undefined ? '' : (label ?? value);
  return html`<div class="picker">
    <input
      id=${id}
      role="combobox"
      aria-expanded=${isOpen ? 'true' : 'false'}
      aria-controls=${`${id}-list`}
      aria-autocomplete="list"
      aria-activedescendant=${isOpen && options?.length ? `${id}-${active}` : undefined}
      aria-invalid=${invalid ? 'true' : undefined}
      aria-describedby=${describedBy}
      autocomplete="off"
      spellcheck="false"
      disabled=${disabled}
      placeholder=${isOpen && value ? (label ?? value) : (placeholder ?? (resource === userResource()?.name ? 'Name, e-mail or id' : `Search ${resource} by label or id`))}
      value=${shown}
      onFocus=${() => setActive(0)}
      onClick=${() => setOpen(true)}
      onInput=${(event) => {
        setText(event.target.value);
        setActive(0);
        setOpen(true);
      }}
      onKeyDown=${handleKey}
      onBlur=${() => {
        setOpen(false);
        setText('');
      }}
    />
    <ul id=${`${id}-list`} role="listbox" aria-label=${`Records of ${resource}`} ref=${list} hidden=${!isOpen || !options?.length}>
      ${options?.map(
        (option, index) => html`<li
          key=${option.id}
          id=${`${id}-${index}`}
          role="option"
          aria-selected=${index === active ? 'true' : 'false'}
          onMouseDown=${(event) => {
            event.preventDefault();
            choose(option);
          }}
        >
          <span>${option.label}</span><code>${option.id}</code>
        </li>`,
      )}
    </ul>
    ${
      isOpen &&
      !options?.length &&
      html`<p class="picker-note" role="status">${error ?? (options === undefined ? 'Searching…' : 'No record found')}</p>`
    }
  </div>`;
}
