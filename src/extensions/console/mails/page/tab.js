import { html, TabLayout, useLoaded } from 'belfry/console';
import { CapturedMailPage, CapturedPage } from './captured.js';
import { FirstTemplate, MAILS, TemplateColumns, TemplatePage, TextsContext } from './templates.js';

/** The sections of the tab. The list of templates stays while one after the other is shown. */
function MailsLayout({ children }) {
  const texts = useLoaded('/mails/texts');
  const sections = [
    { path: `${MAILS}/texts`, label: 'Templates' },
    { path: `${MAILS}/captured`, label: 'Captured' },
  ];
  return html`<${TabLayout} label="E-mails" sections=${sections}>
    <${TextsContext.Provider} value=${texts}><${TemplateColumns}>${children}<//><//>
  <//>`;
}

/** The e-mails of the app. @type {import('../../page/app.js').Tab} */
export const tab = {
  component: MailsLayout,
  routes: [
    { path: '', component: FirstTemplate },
    { path: 'texts', component: FirstTemplate },
    { path: 'texts/:kind', component: TemplatePage },
    { path: 'captured', component: CapturedPage },
    { path: 'captured/:id', component: CapturedMailPage },
  ],
};
