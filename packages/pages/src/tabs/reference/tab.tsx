import { texts } from './texts.ts';
import '../../reference/layout.css';
import '../../reference/reference.css';
import '../../reference/runner/runner.css';
import './map/drawing.css';
import './map/details.css';
import './map/map.css';
import type { ComponentChildren } from 'preact';
import { Loaded, Page, place, type Tab } from '../../console/kit.ts';
import { OperationList } from '../../reference/operation-list.tsx';
import { OperationPage } from '../../reference/operation-page.tsx';
import { Overview } from '../../reference/overview.tsx';
import { currentOperation, type Reference } from '../../reference/reference.ts';
import { HOME } from './console-site.tsx';
import { useReference } from './loaded.ts';
import { AccessPage } from './map/access-page.tsx';
import { MapPage } from './map/map-page.tsx';

const MAP = `${HOME}/map/`;
const SECTIONS = [
  { path: HOME, label: texts.sections.reference },
  { path: `${MAP}resources`, label: texts.sections.map },
  { path: `${MAP}access`, label: texts.sections.access },
];

/** The sections, and beside the reference the list of all routes, which stays while the user goes from one to another. */
function Layout({ children }: { children: ComponentChildren }) {
  const { path } = place.value;
  const { data } = useReference();
  const isMap = path.startsWith(MAP);
  const isCurrent = (section: { path: string }) => (section.path === HOME ? !isMap : path === section.path);
  const current = isMap ? undefined : currentOperation({ home: HOME, place });
  const className = isMap ? 'with-map' : current === undefined ? 'with-list' : 'with-operation';
  return (
    <div class={`reference-layout ${className}`}>
      <div class="reference-side">
        <nav class="reference-sections" aria-label={texts.sections.label}>
          {SECTIONS.map((section) => (
            <a key={section.path} href={section.path} aria-current={isCurrent(section) ? 'page' : undefined}>
              {section.label}
            </a>
          ))}
        </nav>
        {!isMap && data && <OperationList reference={data} current={current} />}
      </div>
      <div class="content">{children}</div>
    </div>
  );
}

/** A page that needs the document: until it is there, the page says that it is loading. */
function WithReference({ children }: { children: (reference: Reference) => ComponentChildren }) {
  const reference = useReference();
  if (reference.data !== undefined) return <>{children(reference.data)}</>;
  return (
    <Page title={texts.title}>
      <Loaded from={reference}>{() => null}</Loaded>
    </Page>
  );
}

const OverviewRoute = () => <WithReference>{(reference) => <Overview reference={reference} />}</WithReference>;

const OperationRoute = ({ operation }: { operation: string }) => (
  <WithReference>{(reference) => <OperationPage id={operation} reference={reference} />}</WithReference>
);

/** The API of the app: a reference from which requests can be sent, and a map of its resources. */
export const tab: Tab = {
  component: Layout,
  routes: [
    { path: '', component: OverviewRoute },
    { path: 'map/resources', component: MapPage },
    { path: 'map/access', component: AccessPage },
    { path: ':operation', component: OperationRoute },
  ],
};
