import { app, DataTable, hrefOf, html, Loaded, Page, place, Status, setParams, useLoaded } from 'belfry/console';
import { accessInWords, accessOf, policyInWords } from '../policy.js';

const ACTIONS = ['list', 'read', 'create', 'update', 'delete'];
const CELLS = {
  yes: ['good', 'yes'],
  own: ['warn', 'own records'],
  verified: ['warn', 'if verified'],
  member: ['warn', 'by role in the organisation'],
  function: ['warn', 'function decides'],
  no: ['neutral', 'no'],
};

/** What one viewer may do, or the rule itself if no viewer is chosen. */
function Cell({ rule, viewer, action }) {
  if (rule === undefined) return html`<span class="soft" title="The resource has no such route">no route</span>`;
  if (viewer === '') return html`<span title=${policyInWords(rule.text, action)}><code>${rule.text}</code></span>`;
  const [kind, text] = CELLS[accessOf(rule, viewer, action)];
  return html`<span title=${rule.text}><${Status} kind=${kind}>${text}<//></span>`;
}

function OtherRoutes({ routes, viewer }) {
  if (routes.length === 0) return html`<span class="soft">–</span>`;
  return html`<ul class="reference-other">
    ${routes.map(
      ({ method, path, access }) => html`<li key=${`${method} ${path}`}>
        <code>${method} ${path.split('/').slice(2).join('/')}</code> <${Cell} rule=${access} viewer=${viewer} />
      </li>`,
    )}
  </ul>`;
}

/** What a viewer may do, as a sentence. */
function Summary({ resources, viewer, label }) {
  return html`<p class="reference-access-summary" role="status">
    ${label}: of ${resources.length} resources, may ${accessInWords(resources, viewer)}.${viewer !== 'visitor' && ' This includes own records, and records of organisations in which the user has a role.'}
  </p>`;
}

/** Which viewers may do what: the policies of all resources, or what one viewer may do. */
function Matrix({ map: { resources, roles } }) {
  const { params } = place.value;
  const viewers = [
    ['', 'the rules'],
    ['visitor', 'a visitor'],
    ['signed-in', 'any signed-in user'],
    ...roles.filter((role) => role !== 'user').map((role) => [role, `a user with the role ${role}`]),
  ];
  const viewer = viewers.some(([id]) => id === params.get('viewer')) ? params.get('viewer') : '';
  const search = params.get('q') ?? '';
  const labels = new Map(app.value.resources.map((one) => [one.name, one]));
  const shown = resources.filter(({ name }) =>
    `${name} ${labels.get(name).label}`.toLowerCase().includes(search.toLowerCase()),
  );
  const columns = [
    {
      name: 'resource',
      label: 'Resource',
      render: ({
        name,
      }) => html`<a href=${hrefOf('/console/reference/map/resources', new URLSearchParams({ resource: name }))}>${labels.get(name).label}</a>${' '}
        ${labels.get(name).hasScope && html`<span class="chip" title="A function limits which records exist for a viewer">scope</span>`}`,
    },
    ...ACTIONS.map((action) => ({
      name: action,
      label: action,
      render: ({ access }) => html`<${Cell} rule=${access[action]} viewer=${viewer} action=${action} />`,
    })),
    {
      name: 'routes',
      label: 'Other routes',
      render: ({ routes }) => html`<${OtherRoutes} routes=${routes} viewer=${viewer} />`,
    },
  ];
  return html`<div class="reference-toolbar">
      <label class="reference-viewer">Show
        <select value=${viewer} onChange=${(event) => setParams({ viewer: event.target.value })}>
          ${viewers.map(([id, label]) => html`<option key=${id} value=${id}>${id === '' ? label : `what ${label} may do`}</option>`)}
        </select>
      </label>
      <input
        type="search"
        aria-label="Find a resource"
        placeholder="Find a resource"
        value=${search}
        onInput=${(event) => setParams({ q: event.target.value }, { replace: true })}
      />
    </div>
    ${viewer !== '' && html`<${Summary} resources=${resources} viewer=${viewer} label=${viewers.find(([id]) => id === viewer)[1].replace(/^./, (letter) => letter.toUpperCase())} />`}
    ${shown.length === 0 && html`<p class="soft">No resource has this name.</p>`}
    ${shown.length > 0 && html`<div class="reference-access"><${DataTable} label="Access by resource and action" rows=${shown} columns=${columns} keyOf=${({ name }) => name} /></div>`}`;
}

export function AccessPage() {
  const map = useLoaded('/reference/map');
  return html`<${Page}
    title="Access"
    intro="Policies of each resource by action. The rules of fields and scope filters limit them further; “Own records” are those of which the viewer is the owner."
  >
    <${Loaded} from=${map}>${(data) => html`<${Matrix} map=${data} />`}<//>
  <//>`;
}
