import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Menu } from '../components/menu.tsx';
import { ResourceIcon } from '../components/resource-icon.tsx';
import { hrefOf, navigate, place } from '../router.ts';
import { ViewAsBanner } from '../shell/view-as.tsx';
import type { Tab } from '../tab.ts';
import { texts } from '../texts.ts';
import type { ResourceInfo } from './app-info.ts';
import { ListPage } from './list/list.tsx';
import { FirstDeclaration } from './no-resources.tsx';
import { CreatePage } from './record/create-page.tsx';
import { RecordPage } from './record/record.tsx';
import { apiPathOf, app, DATA, dataHref, resourceOf, userResource } from './schema.ts';

/** From this number of resources on, their list has a search field. */
const SEARCHED_FROM = 9;

/** What an app shows that has no resources besides its users. */
function NoResources() {
  return (
    <main id="main" class="page">
      <h1 tabindex={-1}>{texts.data.noResources.title}</h1>
      <FirstDeclaration />
    </main>
  );
}

function ResourceLinks({
  current,
  onChoose,
}: {
  /** The name of the resource that is shown. */
  current: string | undefined;
  onChoose?: () => void;
}) {
  const [text, setText] = useState('');
  const { resources } = app.value;
  const found = resources.filter(({ plural, name }) => `${plural} ${name}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <>
      {resources.length >= SEARCHED_FROM && (
        <input
          type="search"
          aria-label={texts.data.findResource}
          placeholder={texts.data.findResource}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      )}
      <ul class="resources">
        {found.map((resource) => (
          <li key={resource.name}>
            <a
              href={dataHref([resource.name])}
              title={resource.description ?? resource.name}
              aria-current={resource.name === current ? 'page' : undefined}
              onClick={onChoose}
            >
              <ResourceIcon resource={resource} />
              <span class="text">{resource.plural}</span>
            </a>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="soft">{texts.data.noResource}</p>}
    </>
  );
}

/** The resource in the path, if any. */
function currentResource(): string | undefined {
  const [name] = place.value.path.slice(DATA.length + 1).split('/');
  return name === '' ? undefined : name;
}

/** The resources beside the page; on narrow screens, a menu above it. */
function DataLayout({ children }: { children: ComponentChildren }) {
  const current = currentResource();
  return (
    <div class="layout">
      <nav class="sidebar" aria-label={texts.data.resources}>
        <ResourceLinks current={current} />
      </nav>
      <div class="resource-menu">
        <Menu label={resourceOf(current)?.plural ?? texts.data.resources} icon="menu">
          {(close) => (
            <nav aria-label={texts.data.resources}>
              <ResourceLinks current={current} onChoose={close} />
            </nav>
          )}
        </Menu>
      </div>
      <div class="content">
        <ViewAsBanner />
        {children}
      </div>
    </div>
  );
}

/** The tab opens with the first resource, or shows how to declare one. */
function FirstResource() {
  const [first] = app.value.resources.filter(({ name }) => name !== userResource()?.name);
  useEffect(() => {
    if (first !== undefined) navigate(dataHref([first.name]), { replace: true });
  }, []);
  return first === undefined ? <NoResources /> : null;
}

/** Leads from the plural of a resource, as in the paths of the API, to its name. */
function ToResource({ resource }: { resource: ResourceInfo }) {
  useEffect(() => {
    const { path, params } = place.value;
    const [, ...rest] = path.slice(DATA.length + 1).split('/');
    navigate(hrefOf([DATA, encodeURIComponent(resource.name), ...rest].join('/'), params), { replace: true });
  }, []);
  return null;
}

interface ResourcePageProps {
  resource: ResourceInfo;
  /** Of the record; empty on pages that show none. */
  id: string;
}

/** Shows a page of a resource, or says that there is no such resource. */
const ofResource =
  (Page: ComponentType<ResourcePageProps>) =>
  ({ resource: name, id = '' }: { resource: string; id?: string }) => {
    const resource = resourceOf(name);
    if (resource !== undefined) return <Page resource={resource} id={id} />;
    const named = app.value.resources.find((one) => apiPathOf(one) === `/api/${name}`);
    if (named !== undefined) return <ToResource resource={named} />;
    return (
      <main id="main" class="page">
        <h1 tabindex={-1}>{texts.data.unknownResource(name)}</h1>
        <p>
          <a href={DATA}>{texts.data.showResources}</a>
        </p>
      </main>
    );
  };

/** The data of the app: lists and records, generated from the declarations. */
export const dataTab: Tab = {
  component: DataLayout,
  routes: [
    { path: '', component: FirstResource },
    { path: ':resource', component: ofResource(ListPage) },
    { path: ':resource/new', component: ofResource(CreatePage) },
    { path: ':resource/:id', component: ofResource(RecordPage) },
  ],
};
