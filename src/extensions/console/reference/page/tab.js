import { html, Loaded, Page, place } from 'belfry/console';
import { useReference } from './api/loaded.js';
import { OperationPage } from './api/operation.js';
import { Overview } from './api/overview.js';
import { OperationList } from './api/side.js';
import { AccessPage } from './map/access-page.js';
import { MapPage } from './map/map-page.js';

const HOME = '/console/reference';
const MAP = `${HOME}/map/`;
const SECTIONS = [
  { path: HOME, label: 'Reference' },
  { path: `${MAP}resources`, label: 'Map' },
  { path: `${MAP}access`, label: 'Access' },
];

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The id of the operation in the path of the page, if any. */
const currentOperation = (path) => (path.startsWith(`${HOME}/`) ? decode(path.slice(HOME.length + 1)) : undefined);

/** The sections, and beside the reference the list of all routes, which stays while the user goes from one to another. */
function Layout({ children }) {
  const { path } = place.value;
  const reference = useReference();
  const isMap = path.startsWith(MAP);
  const isCurrent = (section) => (section.path === HOME ? !isMap : path === section.path);
  const current = isMap ? undefined : currentOperation(path);
  const className = isMap ? 'with-map' : current === undefined ? 'with-list' : 'with-operation';
  return html`<div class=${`reference-layout ${className}`}>
    <div class="reference-side">
      <nav class="reference-sections" aria-label="API">
        ${SECTIONS.map(
          (section) =>
            html`<a key=${section.path} href=${section.path} aria-current=${isCurrent(section) ? 'page' : undefined}>${section.label}</a>`,
        )}
      </nav>
      ${!isMap && reference.data && html`<${OperationList} data=${reference.data} current=${current} />`}
    </div>
    <div class="content">${children}</div>
  </div>`;
}

/** A page that needs the document: until it is there, the page says that it is loading. */
const withReference = (Content) => (props) => {
  const reference = useReference();
  if (reference.data !== undefined) return html`<${Content} data=${reference.data} ...${props} />`;
  return html`<${Page} title="API reference"><${Loaded} from=${reference}>${() => null}<//><//>`;
};

function OperationRoute({ data, operation: id }) {
  const operation = data.byId.get(id);
  if (operation !== undefined) return html`<${OperationPage} key=${id} operation=${operation} data=${data} />`;
  return html`<${Page} title=${`There is no operation “${id}”`} back=${{ href: HOME, label: 'All routes' }}>
    <p>The app may have renamed or removed it. Search for its path in the list of routes.</p>
  <//>`;
}

/** The API of the app: a reference from which requests can be sent, and a map of its resources. @type {import('../../page/app.js').Tab} */
export const tab = {
  component: Layout,
  routes: [
    { path: '', component: withReference(Overview) },
    { path: 'map/resources', component: MapPage },
    { path: 'map/access', component: AccessPage },
    { path: ':operation', component: withReference(OperationRoute) },
  ],
};
