import { createContext } from 'preact';
import { useContext, useEffect } from 'preact/hooks';
import { hrefOf, type Load, Loaded, navigate, Page, place, Status, setParams, useLoaded } from '../../console/kit.ts';
import { MailPreview, viewParams } from './preview.tsx';
import type { Mail, MailKind } from './types.ts';

export const MAILS = '/console/mails';
const DEFAULT_LOCALE = 'en';

const GROUPS = [
  { origin: 'project', title: 'Of your app' },
  { origin: 'replaced', title: 'With your texts' },
  { origin: 'built-in', title: 'Built-in' },
];

/** The state of reading the list of all e-mails, which the pages of the tab share. */
export const MailKindsContext = createContext<Load<MailKind[]> | undefined>(undefined);

/** The list of all e-mails, which the layout of the tab reads. */
export function useMailKinds() {
  const kinds = useContext(MailKindsContext);
  if (kinds === undefined) throw new Error('This page must be within the layout of the tab');
  return kinds;
}

/** A link to a template, which keeps how e-mails are shown. */
const templateHref = (kind: string) => hrefOf(`${MAILS}/texts/${encodeURIComponent(kind)}`, viewParams());

/** The e-mails by origin, those of the project first. */
const groupKinds = (kinds: MailKind[]) =>
  GROUPS.map(({ origin, title }) => ({ title, group: kinds.filter((one) => one.origin === origin) })).filter(
    ({ group }) => group.length > 0,
  );

/** Links to all e-mails, by origin. */
export function TemplateLinks({ kinds }: { kinds: MailKind[] }) {
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
              {kind}
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

function LocaleChoice({ locales, locale }: { locales: string[]; locale: string | undefined }) {
  return (
    <label class="mails-locale">
      Locale
      <select value={locale} onChange={(event) => setParams({ locale: event.currentTarget.value })}>
        {locales.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}

/** An e-mail with example values. Its locale is in the address. */
export function TemplatePage({ kind }: { kind: string }) {
  const { data: kinds } = useMailKinds();
  const known = kinds?.find((one) => one.kind === kind);
  const locales = known?.locales ?? [];
  const locale = place.value.params.get('locale') ?? (locales.includes(DEFAULT_LOCALE) ? DEFAULT_LOCALE : locales[0]);
  // Without the list, the locales of an e-mail are not known.
  const isReady = kinds !== undefined || place.value.params.has('locale');
  const path = `/mails/texts/${encodeURIComponent(kind)}/${encodeURIComponent(locale ?? DEFAULT_LOCALE)}`;
  const loaded = useLoaded<Mail>(isReady ? path : undefined);
  return (
    <Page
      title={kind}
      intro={known?.description}
      actions={locales.length > 0 && <LocaleChoice locales={locales} locale={locale} />}
    >
      {known?.origin === 'replaced' && (
        <p class="mails-origin">
          <Status kind="neutral">Your texts replace the built-in ones</Status>
        </p>
      )}
      <Loaded from={loaded}>{(mail) => <MailPreview mail={mail} path={path} />}</Loaded>
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
