import { texts } from './texts.ts';
import './accounts.css';
import type { ComponentChildren } from 'preact';
import { Loaded, type Tab, TabLayout, useLoaded } from '../../console/kit.ts';
import { AccountPage } from './account.tsx';
import { SectionPage } from './section.tsx';
import type { AccountFacts } from './types.ts';
import { UsersPage } from './users.tsx';
import { ACCOUNTS, accountFacts } from './values.tsx';

/** The sections of the tab: the users, and what features add. */
function Layout({ children }: { children: ComponentChildren }) {
  const loaded = useLoaded<AccountFacts>('/accounts/facts');
  if (loaded.data !== undefined) accountFacts.value = loaded.data;
  const sections = [
    { path: ACCOUNTS, label: texts.users },
    ...(loaded.data?.sections ?? []).map(({ id, label }) => ({ path: `${ACCOUNTS}/${id}`, label: label })),
  ];
  if (loaded.data === undefined)
    return (
      <main id="main" class="page tab-page">
        <h1 tabindex={-1}>{texts.title}</h1>
        <Loaded from={loaded}>{() => null}</Loaded>
      </main>
    );
  return (
    <TabLayout label={texts.title} sections={sections}>
      {children}
    </TabLayout>
  );
}

/** The accounts of the app. */
export const tab: Tab = {
  component: Layout,
  routes: [
    { path: '', component: UsersPage },
    { path: 'users/:id', component: AccountPage },
    { path: ':section', component: SectionPage },
  ],
};
