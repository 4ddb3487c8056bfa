import { html, Loaded, place, TabLayout, useLoaded } from 'belfry/console';
import { CapturedMailPage, CapturedPage } from './captured.js';
import { FirstTemplate, MAILS, TemplateLinks, TemplatePage, TextsContext } from './templates.js';

/** The list of all e-mails beside a template. It stays while one template after the other is shown. */
function TemplateList({ texts }) {
  return html`<nav class="mails-list" aria-label="Templates">
    <${Loaded} from=${texts}>${(data) => html`<${TemplateLinks} texts=${data} />`}<//>
  </nav>`;
}

/** The sections of the tab. */
function MailsLayout({ children }) {
  const texts = useLoaded('/mails/texts');
  const isTemplate = !place.value.path.startsWith(`${MAILS}/captured`);
  const sections = [
    { path: `${MAILS}/texts`, label: 'Templates' },
    { path: `${MAILS}/captured`, label: 'Captured' },
  ];
  return html`<${TabLayout} label="E-mails" sections=${sections}>
    <${TextsContext.Provider} value=${texts}>
      <div class=${isTemplate ? 'mails-columns' : ''}>
        ${isTemplate && html`<${TemplateList} texts=${texts} />`} ${children}
      </div>
    <//>
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
