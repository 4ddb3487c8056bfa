import { hrefOf, html, isTyping, place, setParams } from 'belfry/console';
import { useEffect, useRef, useState } from 'preact/hooks';
import { matchesSearch } from './document.js';
import { Method } from './operation.js';

/** Up to this number of operations, all groups are open at first. */
const OPEN_UP_TO = 24;

/** The link to an operation, which keeps the search. */
export function operationHref(id) {
  const kept = new URLSearchParams();
  const text = place.value.params.get('q');
  if (text) kept.set('q', text);
  return hrefOf(`/console/reference/${encodeURIComponent(id)}`, kept);
}

/** Focuses a search field with the key `/`. */
export function useSearchKey(input) {
  useEffect(() => {
    const focus = (event) => {
      if (event.key !== '/' || isTyping(event)) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);
}

function Group({ tag, operations, current, isOpenFirst }) {
  const hasCurrent = operations.some(({ id }) => id === current);
  const [isOpen, setOpen] = useState(isOpenFirst || hasCurrent);
  useEffect(() => {
    if (hasCurrent || isOpenFirst) setOpen(true);
  }, [hasCurrent, isOpenFirst]);
  return html`<details class="reference-tag" open=${isOpen} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>${tag}<span class="soft">${operations.length}</span></summary>
    ${
      isOpen &&
      html`<ul>
        ${operations.map(
          ({ id, method, path, summary, isDeprecated }) => html`<li key=${id}>
            <a href=${operationHref(id)} aria-current=${id === current ? 'page' : undefined} title=${`${method} ${path}`}>
              <${Method} method=${method} /><span class=${isDeprecated ? 'reference-deprecated' : ''}>${summary}</span>
            </a>
          </li>`,
        )}
      </ul>`
    }
  </details>`;
}

/** The search, and all operations in groups. @param {{ data: object, current: string | undefined }} props `current`: the id of an operation */
export function OperationList({ data: { groups, operations }, current }) {
  const text = place.value.params.get('q') ?? '';
  const input = useRef(null);
  useSearchKey(input);
  const found = groups
    .map(({ tag, operations: list }) => ({
      tag,
      operations: list.filter((one) => text === '' || matchesSearch(one, text)),
    }))
    .filter(({ operations: list }) => list.length > 0);
  const count = found.reduce((sum, { operations: list }) => sum + list.length, 0);
  return html`<nav class="reference-list" aria-label="Routes">
    <input
      type="search"
      ref=${input}
      aria-label="Search routes"
      placeholder="Search routes   /"
      value=${text}
      onInput=${(event) => setParams({ q: event.target.value }, { replace: true })}
    />
    <p class="soft reference-count" role="status">${text === '' ? `${operations.length} routes` : `${count} of ${operations.length} routes`}</p>
    <div class="reference-tags">
      ${found.map(
        (group) =>
          html`<${Group} key=${group.tag} ...${group} current=${current} isOpenFirst=${text !== '' || operations.length <= OPEN_UP_TO} />`,
      )}
    </div>
    ${count === 0 && html`<p class="soft">No route matches. Search for a method, a path, a summary or an operation.</p>`}
  </nav>`;
}
