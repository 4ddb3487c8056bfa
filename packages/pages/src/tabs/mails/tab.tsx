import './mails.css';
import type { ComponentChildren } from 'preact';
import { Loaded, place, type Tab, TabLayout, useLoaded } from '../../console/kit.ts';
import { CapturedMailPage, CapturedPage } from './captured.tsx';
import { FirstTemplate, MAILS, MailKindsContext, TemplateLinks, TemplatePage, useMailKinds } from './templates.tsx';
import type { MailKind } from './types.ts';

/** The list of all e-mails beside a template. It stays while one template after the other is shown. */
function TemplateList() {
  return (
    <nav class="mails-list" aria-label="Templates">
      <Loaded from={useMailKinds()}>{(kinds) => <TemplateLinks kinds={kinds} />}</Loaded>
    </nav>
  );
}

/** The sections of the tab. */
function MailsLayout({ children }: { children: ComponentChildren }) {
  const kinds = useLoaded<MailKind[]>('/mails/texts');
  const isTemplate = !place.value.path.startsWith(`${MAILS}/captured`);
  const sections = [
    { path: `${MAILS}/texts`, label: 'Templates' },
    { path: `${MAILS}/captured`, label: 'Captured' },
  ];
  return (
    <TabLayout label="E-mails" sections={sections}>
      <MailKindsContext.Provider value={kinds}>
        <div class={isTemplate ? 'mails-columns' : ''}>
          {isTemplate && <TemplateList />} {children}
        </div>
      </MailKindsContext.Provider>
    </TabLayout>
  );
}

/** The e-mails of the app. */
export const tab: Tab = {
  component: MailsLayout,
  routes: [
    { path: '', component: FirstTemplate },
    { path: 'texts', component: FirstTemplate },
    { path: 'texts/:kind', component: TemplatePage },
    { path: 'captured', component: CapturedPage },
    { path: 'captured/:id', component: CapturedMailPage },
  ],
};
