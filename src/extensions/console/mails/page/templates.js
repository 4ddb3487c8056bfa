import { hrefOf, html, Loaded, navigate, Page, place, Status, setParams, useLoaded } from 'belfry/console';
import { createContext } from 'preact';
import { useContext, useEffect } from 'preact/hooks';
import { MailPreview, viewParams } from './preview.js';

export const MAILS = '/console/mails';
const DEFAULT_LOCALE = 'en';

const GROUPS = [
  ['project', 'Of your app'],
  ['replaced', 'With your texts'],
  ['built-in', 'Built-in'],
];

/** The state of reading the list of all e-mails, which the pages of the tab share. */
export const TextsContext = createContext(undefined);

/** A link to a template, which keeps how e-mails are shown. */
const templateHref = (kind) => hrefOf(`${MAILS}/texts/${encodeURIComponent(kind)}`, viewParams());

/** The e-mails by origin, those of the project first. @returns {[title: string, texts: any[]][]} */
const groupsOf = (texts) =>
  GROUPS.map(([origin, title]) => [title, texts.filter((one) => one.origin === origin)]).filter(
    ([, group]) => group.length > 0,
  );

/** Links to all e-mails, by origin. @param {{ texts: any[] }} props */
export function TemplateLinks({ texts }) {
  const { path } = place.value;
  return groupsOf(texts).map(
    ([title, group]) => html`<section key=${title}>
        <h2>${title}</h2>
        <ul>
          ${group.map(
            ({ kind }) => html`<li key=${kind}>
              <a
                href=${templateHref(kind)}
                aria-current=${path === `${MAILS}/texts/${encodeURIComponent(kind)}` ? 'true' : undefined}
              >
                ${kind}
              </a>
            </li>`,
          )}
        </ul>
      </section>`,
  );
}

/** The tab opens with the first template. */
export function FirstTemplate() {
  const { data } = useContext(TextsContext);
  const first = groupsOf(data ?? [])[0]?.[1][0].kind;
  useEffect(() => {
    if (first !== undefined) navigate(templateHref(first), { replace: true });
  }, [first]);
  return null;
}

function LocaleChoice({ locales, locale }) {
  return html`<label class="mails-locale">Locale
    <select value=${locale} onChange=${(event) => setParams({ locale: event.target.value })}>
      ${locales.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
    </select>
  </label>`;
}

/** An e-mail with example values. Its locale is in the address. */
export function TemplatePage({ kind }) {
  const { data: texts } = useContext(TextsContext);
  const text = texts?.find((one) => one.kind === kind);
  const locales = text?.locales ?? [];
  const locale = place.value.params.get('locale') ?? (locales.includes(DEFAULT_LOCALE) ? DEFAULT_LOCALE : locales[0]);
  // Without the list, the locales of an e-mail are not known.
  const isReady = texts !== undefined || place.value.params.has('locale');
  const path = `/mails/texts/${encodeURIComponent(kind)}/${encodeURIComponent(locale ?? DEFAULT_LOCALE)}`;
  const loaded = useLoaded(isReady ? path : undefined);
  return html`<${Page}
    title=${kind}
    intro=${text?.description}
    actions=${locales.length > 0 && html`<${LocaleChoice} locales=${locales} locale=${locale} />`}
  >
    ${text?.origin === 'replaced' && html`<p class="mails-origin"><${Status} kind="neutral">Your texts replace the built-in ones<//></p>`}
    <${Loaded} from=${loaded}>${(mail) => html`<${MailPreview} mail=${mail} path=${path} />`}<//>
    ${
      loaded.error?.details &&
      html`<ul class="mails-problems">
        ${Object.entries(loaded.error.details).map(([name, problem]) => html`<li key=${name}>${name}: ${problem}</li>`)}
      </ul>`
    }
  <//>`;
}
