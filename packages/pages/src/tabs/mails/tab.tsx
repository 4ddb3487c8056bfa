import './mails.css';
import type { ComponentChildren } from 'preact';
import { app, Loaded, place, type Tab, TabLayout, useLoaded } from '../../console/kit.ts';
import { CapturedMailPage, CapturedPage } from './captured.tsx';
import { FirstTemplate, MAILS, MailKindsContext, TemplateLinks, TemplatePage, useMailKinds } from './templates.tsx';
import { texts } from './texts.ts';
import type { ListedMail, MailDelivery } from './types.ts';

/** The list of all e-mails beside a template. It stays while one template after the other is shown. */
function TemplateList() {
  return (
    <nav class="mails-list" aria-label={texts.templates}>
      <Loaded from={useMailKinds()}>{(kinds) => <TemplateLinks kinds={kinds} />}</Loaded>
    </nav>
  );
}

/** A template beside the list of all, or captured e-mails. */
function MailsContent({ children }: { children: ComponentChildren }) {
  const isTemplate = !place.value.path.startsWith(`${MAILS}/captured`);
  return (
    <div class={isTemplate ? 'mails-columns' : ''}>
      {isTemplate && <TemplateList />} {children}
    </div>
  );
}

/** The sections of the tab. E-mails are captured in development only. */
function MailsLayout({ children }: { children: ComponentChildren }) {
  const kinds = useLoaded<ListedMail[], MailDelivery>('/mails/texts');
  const content = <MailsContent>{children}</MailsContent>;
  const sections = [
    { path: `${MAILS}/texts`, label: texts.templates },
    { path: `${MAILS}/captured`, label: texts.captured },
  ];
  return (
    <MailKindsContext.Provider value={kinds}>
      {app.value.mode === 'development' ? (
        <TabLayout label={texts.tab} sections={sections}>
          {content}
        </TabLayout>
      ) : (
        content
      )}
    </MailKindsContext.Provider>
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
