import {
  app,
  DataTable,
  hrefOf,
  Loaded,
  Page,
  place,
  type ResourceInfo,
  Status,
  type StatusKind,
  setParams,
  type TableColumn,
  useLoaded,
} from '../../../console/kit.ts';
import { policyInWords } from '../../../reference/policy.ts';
import { ACTIONS, type AccessRule, type Action, type Answer, accessInWords, accessOf } from './access.ts';
import type { MappedResource, ResourceMap } from './resource-map.ts';

const ANSWERS: Readonly<Record<Exclude<Answer, 'missing'>, [StatusKind, string]>> = {
  yes: ['good', 'yes'],
  own: ['warn', 'own records'],
  verified: ['warn', 'if verified'],
  member: ['warn', 'by role in the organisation'],
  function: ['warn', 'function decides'],
  no: ['neutral', 'no'],
};

/** What one viewer may do, or the rule itself if no viewer is chosen. */
function Cell({ rule, viewer, action }: { rule: AccessRule | undefined; viewer: string; action?: Action }) {
  const answer = accessOf(rule, viewer, action);
  if (rule === undefined || answer === 'missing')
    return (
      <span class="soft" title="The resource has no such route">
        no route
      </span>
    );
  if (viewer === '')
    return (
      <span title={policyInWords(rule.text, action)}>
        <code>{rule.text}</code>
      </span>
    );
  const [kind, text] = ANSWERS[answer];
  return (
    <span title={rule.text}>
      <Status kind={kind}>{text}</Status>
    </span>
  );
}

function OtherRoutes({ routes, viewer }: { routes: MappedResource['routes']; viewer: string }) {
  if (routes.length === 0) return <span class="soft">–</span>;
  return (
    <ul class="reference-other">
      {routes.map(({ method, path, access }) => (
        <li key={`${method} ${path}`}>
          <code>
            {method} {path.split('/').slice(2).join('/')}
          </code>{' '}
          <Cell rule={access} viewer={viewer} />
        </li>
      ))}
    </ul>
  );
}

function ResourceCell({ name, label, hasScope }: ResourceInfo) {
  return (
    <>
      <a href={hrefOf('/console/reference/map/resources', new URLSearchParams({ resource: name }))}>{label}</a>{' '}
      {hasScope && (
        <span class="chip" title="A function limits which records exist for a viewer">
          scope
        </span>
      )}
    </>
  );
}

/** A viewer that can be chosen. `id`: empty for the rules themselves. */
interface Viewer {
  id: string;
  label: string;
}

/** What a viewer may do, as a sentence. */
function Summary({ resources, viewer }: { resources: readonly MappedResource[]; viewer: Viewer }) {
  return (
    <p class="reference-access-summary" role="status">
      {viewer.label.replace(/^./, (letter) => letter.toUpperCase())}: of {resources.length} resources, may{' '}
      {accessInWords(resources, viewer.id)}.
      {viewer.id !== 'visitor' &&
        ' This includes own records, and records of organisations in which the user has a role.'}
    </p>
  );
}

function Toolbar({ viewers, viewer, search }: { viewers: readonly Viewer[]; viewer: Viewer; search: string }) {
  return (
    <div class="reference-toolbar">
      <label class="reference-viewer">
        Show
        <select value={viewer.id} onChange={(event) => setParams({ viewer: event.currentTarget.value })}>
          {viewers.map(({ id, label }) => (
            <option key={id} value={id}>
              {id === '' ? label : `what ${label} may do`}
            </option>
          ))}
        </select>
      </label>
      <input
        type="search"
        aria-label="Find a resource"
        placeholder="Find a resource"
        value={search}
        onInput={(event) => setParams({ q: event.currentTarget.value }, { replace: true })}
      />
    </div>
  );
}

/** A row: a resource of the map with its description. */
interface Row {
  mapped: MappedResource;
  info: ResourceInfo;
}

const columnsFor = (viewer: string): TableColumn<Row>[] => [
  { name: 'resource', label: 'Resource', render: ({ info }) => <ResourceCell {...info} /> },
  ...ACTIONS.map(
    (action): TableColumn<Row> => ({
      name: action,
      label: action,
      render: ({ mapped }) => <Cell rule={mapped.access[action]} viewer={viewer} action={action} />,
    }),
  ),
  {
    name: 'routes',
    label: 'Other routes',
    render: ({ mapped }) => <OtherRoutes routes={mapped.routes} viewer={viewer} />,
  },
];

const RULES: Viewer = { id: '', label: 'the rules' };

/** Which viewers may do what: the policies of all resources, or what one viewer may do. */
function Matrix({ map: { resources, roles } }: { map: ResourceMap }) {
  const { params } = place.value;
  const viewers = [
    RULES,
    { id: 'visitor', label: 'a visitor' },
    { id: 'signed-in', label: 'any signed-in user' },
    ...roles.filter((role) => role !== 'user').map((role) => ({ id: role, label: `a user with the role ${role}` })),
  ];
  const viewer = viewers.find(({ id }) => id === params.get('viewer')) ?? RULES;
  const search = params.get('q') ?? '';
  const infos = new Map(app.value.resources.map((one) => [one.name, one]));
  const rows = resources.flatMap((mapped): Row[] => {
    const info = infos.get(mapped.name);
    const isFound = `${info?.name} ${info?.label}`.toLowerCase().includes(search.toLowerCase());
    return info === undefined || !isFound ? [] : [{ mapped, info }];
  });
  return (
    <>
      <Toolbar viewers={viewers} viewer={viewer} search={search} />
      {viewer !== RULES && <Summary resources={resources} viewer={viewer} />}
      {rows.length === 0 && <p class="soft">No resource has this name.</p>}
      {rows.length > 0 && (
        <div class="reference-access">
          <DataTable
            label="Access by resource and action"
            rows={rows}
            columns={columnsFor(viewer.id)}
            keyOf={({ info }) => info.name}
          />
        </div>
      )}
    </>
  );
}

export function AccessPage() {
  const map = useLoaded<ResourceMap>('/reference/map');
  return (
    <Page
      title="Access"
      intro="Policies of each resource by action. The rules of fields and scope filters limit them further; “Own records” are those of which the viewer is the owner."
    >
      <Loaded from={map}>{(data) => <Matrix map={data} />}</Loaded>
    </Page>
  );
}
