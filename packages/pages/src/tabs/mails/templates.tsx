import { createContext } from 'preact';
import { useContext, useEffect } from 'preact/hooks';
import {
  app,
  Facts,
  hrefOf,
  type Load,
  Loaded,
  navigate,
  Page,
  place,
  Status,
  setParams,
  useLoaded,
} from '../../console/kit.ts';
import { MailPreview, viewParams } from './preview.tsx';
import { SendTest } from './send-test.tsx';
import { firstLocale, kindName, kindSummary, localeName, texts } from './texts.ts';
import type { ListedMail, Mail, MailDelivery } from './types.ts';

export const MAILS = '/console/mails';
/** The locale of an e-mail that the app does not have, so that the server says so. */
const UNKNOWN_LOCALE = 'en';
/** The settings of a mail server. */
const SETTINGS = ['SMTP_URL', 'MAIL_FROM'];

const GROUPS = [
  { origin: 'project', title: texts.origins.project },
  { origin: 'replaced', title: texts.origins.replaced },
  { origin: 'built-in', title: texts.origins.builtIn },
];

/** The state of reading the list of all e-mails. */
type MailKinds = Load<ListedMail[], MailDelivery>;

/** The state that the pages of the tab share: the list of all e-mails, which the layout of the tab reads. */
export const MailKindsContext = createContext<MailKinds>({
  data: undefined,
  meta: {},
  error: undefined,
  isLoading: true,
  reload: async () => undefined,
});

/** The list of all e-mails. */
export const useMailKinds = () => useContext(MailKindsContext);

/** A link to a template, which keeps how e-mails are shown. */
const templateHref = (kind: string) => hrefOf(`${MAILS}/texts/${encodeURIComponent(kind)}`, viewParams());

/** The e-mails by origin, those of the project first. */
const groupKinds = (kinds: ListedMail[]) =>
  GROUPS.map(({ origin, title }) => ({ title, group: kinds.filter((one) => one.origin === origin) })).filter(
    ({ group }) => group.length > 0,
  );

/** Links to all e-mails, by origin. */
export function TemplateLinks({ kinds }: { kinds: ListedMail[] }) {
  const { path } = place.value;
  return groupKinds(kinds).map(({ title, group }) => (
    <section key={title}>
      <h2>{title}</h2>
      <ul>
        {group.map(({ kind }) => (
          <li key={kind}>
            <a
              href={templateHref(kind)}
              aria-current={path === `${MAILS}/texts/${encodeURIComponent(kind)}` ? 'true' : undefined}
            >
              {kindName(kind)}
            </a>
          </li>
        ))}
      </ul>
    </section>
  ));
}

/** The tab opens with the first template. */
export function FirstTemplate() {
  const first = groupKinds(useMailKinds().data ?? [])[0]?.group[0]?.kind;
  useEffect(() => {
    if (first !== undefined) navigate(templateHref(first), { replace: true });
  }, [first]);
  return null;
}

function LocaleChoice({ locales, locale }: { locales: readonly string[]; locale: string }) {
  return (
    <label class="mails-locale">
      {texts.locale}
      <select value={locale} onChange={(event) => setParams({ locale: event.currentTarget.value })}>
        {locales.map((one) => (
          <option key={one} value={one}>
            {localeName(one)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What to set if there is no mail server. */
function NoServer() {
  const { noServer } = texts;
  const [url, from] = SETTINGS;
  return (
    <p class="banner warn mails-no-server" role="note">
      <b>{noServer.title}</b>
      <span>
        {noServer.before} <code>{url}</code> {noServer.and} <code>{from}</code> {noServer.after}
      </span>
    </p>
  );
}

/** The test, where it can be sent: in production, with a mail server. */
function TestPart({ path }: { path: string }) {
  const { delivery, testTo } = useMailKinds().meta;
  if (delivery === 'none') return <NoServer />;
  if (delivery !== 'server' || app.value.mode === 'development') return null;
  return <SendTest key={path} path={path} to={testTo ?? null} />;
}

function TemplateFacts({ kind, origin }: ListedMail) {
  return (
    <Facts
      of={[
        [texts.kind, <code>{kind}</code>],
        [texts.origin, origin === 'replaced' ? <Status kind="neutral">{texts.replacedHint}</Status> : undefined],
      ]}
    />
  );
}

/** An e-mail with example values. Its locale is in the address. */
export function TemplatePage({ kind }: { kind: string }) {
  const { data: kinds } = useMailKinds();
  const known = kinds?.find((one) => one.kind === kind);
  const locales = known?.locales ?? [];
  const locale = place.value.params.get('locale') ?? firstLocale(locales) ?? UNKNOWN_LOCALE;
  // Without the list, the locales of an e-mail are not known.
  const isReady = kinds !== undefined || place.value.params.has('locale');
  const path = `/mails/texts/${encodeURIComponent(kind)}/${encodeURIComponent(locale)}`;
  const loaded = useLoaded<Mail>(isReady ? path : undefined);
  return (
    <Page
      title={kindName(kind)}
      intro={kindSummary(kind) ?? known?.description}
      actions={locales.length > 0 && <LocaleChoice locales={locales} locale={locale} />}
    >
      {known && <TemplateFacts {...known} />}
      <Loaded from={loaded}>
        {(mail) => (
          <>
            <TestPart path={path} />
            <MailPreview mail={mail} path={path} />
          </>
        )}
      </Loaded>
      {loaded.error && (
        <ul class="mails-problems">
          {Object.entries(loaded.error.details).map(([name, problem]) => (
            <li key={name}>
              {name}: {problem}
            </li>
          ))}
        </ul>
      )}
    </Page>
  );
}
