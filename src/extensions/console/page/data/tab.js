import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { Code, Menu } from '../components/menu.js';
import { hrefOf, navigate, place } from '../router.js';
import { ViewAsBanner } from '../shell/view-as.js';
import { ListPage } from './list/list.js';
import { CreatePage, RecordPage } from './record/record.js';
import { apiPathOf, app, DATA, dataHref, resourceOf, userResource } from './schema.js';

/** From this number of resources on, their list has a search field. */
const SEARCHED_FROM = 9;

const DECLARATION = `import { createApp, defineResource, f } from 'belfry';

export const post = defineResource('post', {
  fields: { title: f.string().required().searchable() },
  policies: { list: 'public', read: 'public', create: 'user' },
});

export const app = createApp({ resources: [user, post] }, process.env);`;

/** What an app shows that has no resources besides its users. */
function NoResources() {
  return html`<main id="main" class="page">
    <h1 tabindex="-1">This app declares no resources yet</h1>
    <p class="intro">
      A resource is a kind of record: declare its fields, and it has a table, an API and a list here. Add one to your app:
    </p>
    <${Code} text=${DECLARATION} label="Declaration of a resource" />
  </main>`;
}

function ResourceLinks({ current, onChoose }) {
  const [text, setText] = useState('');
  const { resources } = app.value;
  const found = resources.filter(({ plural, name }) => `${plural} ${name}`.toLowerCase().includes(text.toLowerCase()));
  return html`${
    resources.length >= SEARCHED_FROM &&
    html`<input
      type="search"
      aria-label="Find a resource"
      placeholder="Find a resource"
      value=${text}
      onInput=${(event) => setText(event.target.value)}
    />`
  }
    <ul class="resources">
      ${found.map(
        ({ name, plural, description }) => html`<li key=${name}>
          <a
            href=${dataHref([name])}
            title=${description ?? name}
            aria-current=${name === current ? 'page' : undefined}
            onClick=${onChoose}
          >
            ${plural}
          </a>
        </li>`,
      )}
    </ul>
    ${found.length === 0 && html`<p class="soft">No resource has this name.</p>`}`;
}

/** The resource in the path, if any. */
function currentResource() {
  const [name] = place.value.path.slice(DATA.length + 1).split('/');
  return name === '' ? undefined : name;
}

/** The resources beside the page; on narrow screens, a menu above it. */
function DataLayout({ children }) {
  const current = currentResource();
  return html`<div class="layout">
    <nav class="sidebar" aria-label="Resources"><${ResourceLinks} current=${current} /></nav>
    <div class="resource-menu">
      <${Menu} label=${resourceOf(current)?.plural ?? 'Resources'} icon="menu">
        ${(close) => html`<nav aria-label="Resources"><${ResourceLinks} current=${current} onChoose=${close} /></nav>`}
      <//>
    </div>
    <div class="content"><${ViewAsBanner} />${children}</div>
  </div>`;
}

/** The tab opens with the first resource, or shows how to declare one. */
function FirstResource() {
  const [first] = app.value.resources.filter(({ name }) => name !== userResource()?.name);
  useEffect(() => {
    if (first !== undefined) navigate(dataHref([first.name]), { replace: true });
  }, []);
  return first === undefined ? html`<${NoResources} />` : null;
}

/** Leads from the plural of a resource, as in the paths of the API, to its name. */
function ToResource({ resource }) {
  useEffect(() => {
    const { path, params } = place.value;
    const [, ...rest] = path.slice(DATA.length + 1).split('/');
    navigate(hrefOf([DATA, encodeURIComponent(resource.name), ...rest].join('/'), params), { replace: true });
  }, []);
  return null;
}

/** Shows a page of a resource, or says that there is no such resource. */
const ofResource =
  (Page) =>
  ({ resource: name, ...params }) => {
    const resource = resourceOf(name);
    if (resource !== undefined) return html`<${Page} resource=${resource} ...${params} />`;
    const named = app.value.resources.find((one) => apiPathOf(one) === `/api/${name}`);
    if (named !== undefined) return html`<${ToResource} resource=${named} />`;
    return html`<main id="main" class="page">
      <h1 tabindex="-1">There is no resource “${name}”</h1>
      <p><a href=${DATA}>Show the resources of this app</a></p>
    </main>`;
  };

/** The data of the app: lists and records, generated from the declarations. @type {import('../app.js').Tab} */
export const dataTab = {
  component: DataLayout,
  routes: [
    { path: '', component: FirstResource },
    { path: ':resource', component: ofResource(ListPage) },
    { path: ':resource/new', component: ofResource(CreatePage) },
    { path: ':resource/:id', component: ofResource(RecordPage) },
  ],
};
