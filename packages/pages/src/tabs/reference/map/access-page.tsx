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
  sentenceCase,
  setParams,
  type TableColumn,
  useLoaded,
} from '../../../console/kit.ts';
import { policyInWords } from '../../../reference/policy.ts';
import { texts } from '../texts.ts';
import { ACTIONS, type AccessRule, type Action, type Answer, accessInWords, accessOf } from './access.ts';
import type { MappedResource, ResourceMap } from './resource-map.ts';

const KINDS: Readonly<Record<Exclude<Answer, 'missing'>, StatusKind>> = {
  yes: 'good',
  own: 'warn',
  verified: 'warn',
  member: 'warn',
  function: 'warn',
  no: 'neutral',
};

/** What one viewer may do, or the rule itself if no viewer is chosen. */
function Cell({ rule, viewer, action }: { rule: AccessRule | undefined; viewer: string; action?: Action }) {
  const answer = accessOf(rule, viewer, action);
  if (rule === undefined || answer === 'missing')
    return (
      <span class="soft" title={texts.access.noRouteText}>
        {texts.noRoute}
      </span>
    );
  if (viewer === '')
    return (
      <span title={policyInWords(rule.text, action)}>
        <code>{rule.text}</code>
      </span>
    );
  return (
    <span title={rule.text}>
      <Status kind={KINDS[answer]}>{texts.access.answers[answer]}</Status>
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
        <span class="chip" title={texts.access.scopeText}>
          {texts.access.scope}
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
  const { summary, summaryOwn } = texts.access;
  return (
    <p class="reference-access-summary" role="status">
      {summary(sentenceCase(viewer.label), resources.length, accessInWords(resources, viewer.id))}
      {viewer.id !== 'visitor' && ` ${summaryOwn}`}
    </p>
  );
}

function Toolbar({ viewers, viewer, search }: { viewers: readonly Viewer[]; viewer: Viewer; search: string }) {
  return (
    <div class="reference-toolbar">
      <label class="reference-viewer">
        {texts.access.show}
        <select value={viewer.id} onChange={(event) => setParams({ viewer: event.currentTarget.value })}>
          {viewers.map(({ id, label }) => (
            <option key={id} value={id}>
              {id === '' ? label : texts.access.what(label)}
            </option>
          ))}
        </select>
      </label>
      <input
        type="search"
        aria-label={texts.access.find}
        placeholder={texts.access.find}
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
  { name: 'resource', label: texts.access.resource, render: ({ info }) => <ResourceCell {...info} /> },
  ...ACTIONS.map(
    (action): TableColumn<Row> => ({
      name: action,
      label: texts.actions[action],
      render: ({ mapped }) => <Cell rule={mapped.access[action]} viewer={viewer} action={action} />,
    }),
  ),
  {
    name: 'routes',
    label: texts.access.otherRoutes,
    render: ({ mapped }) => <OtherRoutes routes={mapped.routes} viewer={viewer} />,
  },
];

const RULES: Viewer = { id: '', label: texts.access.rules };

/** Which viewers may do what: the policies of all resources, or what one viewer may do. */
function Matrix({ map: { resources, roles } }: { map: ResourceMap }) {
  const { params } = place.value;
  const viewers = [
    RULES,
    { id: 'visitor', label: texts.access.visitor },
    { id: 'signed-in', label: texts.access.signedIn },
    ...roles.filter((role) => role !== 'user').map((role) => ({ id: role, label: texts.access.role(role) })),
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
      {rows.length === 0 && <p class="soft">{texts.access.noMatch}</p>}
      {rows.length > 0 && (
        <div class="reference-access">
          <DataTable
            label={texts.access.table}
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
    <Page title={texts.access.title} intro={texts.access.intro}>
      <Loaded from={map}>{(data) => <Matrix map={data} />}</Loaded>
    </Page>
  );
}
