import { html, Loaded, TabLayout, useLoaded } from 'belfry/console';
import { AccountPage } from './account.js';
import { ACCOUNTS, accountFacts } from './panel.js';
import { SectionPage } from './section.js';
import { UsersPage } from './users.js';

/** The sections of the tab: the users, and what features add. */
function Layout({ children }) {
  const loaded = useLoaded('/accounts/facts');
  if (loaded.data !== undefined) accountFacts.value = loaded.data;
  const sections = [
    { path: ACCOUNTS, label: 'Users' },
    ...(loaded.data?.sections ?? []).map(({ id, label }) => ({ path: `${ACCOUNTS}/${id}`, label })),
  ];
  if (loaded.data === undefined)
    return html`<main id="main" class="page tab-page">
      <h1 tabindex="-1">Accounts</h1>
      <${Loaded} from=${loaded}>${() => null}<//>
    </main>`;
  return html`<${TabLayout} label="Accounts" sections=${sections}>${children}<//>`;
}

/** The accounts of the app. @type {import('../../page/app.js').Tab} */
export const tab = {
  component: Layout,
  routes: [
    { path: '', component: UsersPage },
    { path: 'users/:id', component: AccountPage },
    { path: ':section', component: SectionPage },
  ],
};
