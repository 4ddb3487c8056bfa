import { app, Code, html, Loaded, Nothing, Page, place, setParams, useLoaded } from 'belfry/console';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useSearchKey } from '../api/side.js';
import { matchesText, relationText, showsFieldsAtFirst } from './boxes.js';
import { ResourceDetails } from './details.js';
import { Diagram } from './diagram.js';

/** Below this width of the window, a list takes the place of the drawing. */
const WIDE = '(min-width: 720px)';

const REFERENCE = `const comment = defineResource('comment', {
  fields: {
    text: f.string().required(),
    post: f.ref('post', { onDelete: 'cascade' }).required(),
  },
});`;

/** Whether a media query applies now. */
function useMedia(query) {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const update = () => setMatches(list.matches);
    list.addEventListener('change', update);
    return () => list.removeEventListener('change', update);
  }, [query]);
  return matches;
}

const select = (resource) => setParams({ resource });

/** Closes the details, and returns the focus to the resource in the list. */
async function closeDetails(name) {
  await select(undefined);
  requestAnimationFrame(() => document.querySelector(`[data-resource="${CSS.escape(name)}"]`)?.focus());
}

/** The resources with their relations as text: on narrow screens, and beside the drawing. */
function ResourceList({ found, mapped, selected }) {
  const byName = new Map(mapped.map((one) => [one.name, one]));
  return html`<nav class="reference-resources" aria-label="Resources">
    <ul>
      ${found.map(
        ({ name, label, fields }) => html`<li key=${name}>
          <button type="button" data-resource=${name} aria-pressed=${name === selected ? 'true' : 'false'} onClick=${() => select(name === selected ? undefined : name)}>
            <b>${label}</b>
            <span class="reference-resource-text">${fields.length} ${fields.length === 1 ? 'field' : 'fields'}. ${relationText(byName.get(name), mapped)}</span>
          </button>
        </li>`,
      )}
    </ul>
    ${found.length === 0 && html`<p class="soft">No resource or field has this name.</p>`}
  </nav>`;
}

function Toolbar({ search, showFields, isWide }) {
  const input = useRef(null);
  useSearchKey(input);
  return html`<div class="reference-toolbar">
    <input
      type="search"
      ref=${input}
      aria-label="Find a resource or field"
      placeholder="Find a resource or field   /"
      value=${search}
      onInput=${(event) => setParams({ q: event.target.value }, { replace: true })}
    />
    ${
      isWide &&
      html`<label class="check">
        <input type="checkbox" checked=${showFields} onChange=${(event) => setParams({ fields: event.target.checked ? 'yes' : 'no' }, { replace: true })} />
        Show fields
      </label>`
    }
  </div>`;
}

function MapContent({ mapped, isWide }) {
  const { params } = place.value;
  const { resources } = app.value;
  const search = params.get('q') ?? '';
  const chosen = params.get('fields');
  const showFields = chosen === null ? showsFieldsAtFirst(resources.length) : chosen === 'yes';
  const resource = resources.find(({ name }) => name === params.get('resource'));
  const own = mapped.find(({ name }) => name === resource?.name);
  const found = resources.filter((one) => matchesText(one, search));
  const hasReferences = mapped.some(({ references }) => references.length > 0);
  const details =
    resource &&
    own &&
    html`<${ResourceDetails} key=${resource.name} resource=${resource} mapped=${own} all=${mapped} takesFocus=${!isWide}
      onClose=${() => closeDetails(resource.name)} />`;
  return html`<${Toolbar} search=${search} showFields=${showFields} isWide=${isWide} />
    ${
      !hasReferences &&
      html`<${Nothing} title="No resource refers to another one">
        <p>The map connects resources by their references. Declare one with <code>f.ref</code>:</p>
        <${Code} text=${REFERENCE} label="Declaration of a reference" />
      <//>`
    }
    <div class=${`reference-map ${details ? 'with-details' : ''}`}>
      ${!isWide && details}
      <${ResourceList} found=${found} mapped=${mapped} selected=${resource?.name} />
      ${
        isWide &&
        html`<${Diagram}
          resources=${resources}
          mapped=${mapped}
          showFields=${showFields}
          selected=${resource?.name}
          search=${search}
          onSelect=${select}
        />`
      }
      ${isWide && details}
    </div>`;
}

/** The resources of the app, and how they refer to each other. */
export function MapPage() {
  const map = useLoaded('/reference/map');
  const isWide = useMedia(WIDE);
  return html`<${Page} title="Map" intro="The resources that the app declares, with their fields, references and policies.">
    <${Loaded} from=${map}>${({ resources }) => html`<${MapContent} mapped=${resources} isWide=${isWide} />`}<//>
  <//>`;
}
