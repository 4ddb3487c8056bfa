import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { IconButton } from '../../kit/icons.tsx';
import { chooseLanguage, LANGUAGES, language } from '../../kit/language.ts';
import { RequestError } from '../../kit/request.ts';
import { showError } from '../../kit/toasts.tsx';
import { blocked, callApp, forgetToken, readToken } from '../api.ts';
import { brand } from '../brand.ts';
import type { TabLink } from '../data/app-info.ts';
import { app, DATA } from '../data/schema.ts';
import { OVERVIEW } from '../overview/tab.tsx';
import { place } from '../router.ts';
import { texts } from '../texts.ts';
import { chooseTheme, readTheme, themeAfter } from '../theme.ts';
import { liveState } from './live.ts';
import { ViewAsButton } from './view-as.tsx';

const TAB_LABELS: Readonly<Record<string, string>> = texts.shell.tabs;

const theme = signal(readTheme());

function ThemeButton() {
  const current = theme.value;
  const next = themeAfter(current);
  const change = () => {
    chooseTheme(next);
    theme.value = next;
  };
  return (
    <IconButton
      icon={current}
      label={texts.shell.theme(texts.shell.themes[current], texts.shell.themes[next])}
      onClick={change}
    />
  );
}

/** Shows the console in the other language. Changes that are not saved are asked about, as before every load. */
function LanguageButton() {
  const next = language === 'en' ? 'de' : 'en';
  return (
    <button type="button" class="plain language" lang={next} onClick={() => chooseLanguage(next)}>
      {LANGUAGES[next]}
    </button>
  );
}

function LiveIndicator() {
  const state = liveState.value;
  if (state === 'off') return null;
  return (
    <span class={`status live ${state === 'lost' ? 'warn' : 'good'}`} role="status" title={texts.shell.live[state]}>
      <span class="dot"></span>
      <span class="text">{texts.shell.live[state]}</span>
    </span>
  );
}

function User() {
  const { user } = app.value;
  if (!user && readToken() === undefined) return null;
  const signOut = async () => {
    try {
      await callApp('/auth/logout', { method: 'POST' });
    } catch (error) {
      // A session that has already ended needs no logout.
      if (!(error instanceof RequestError && error.status === 401)) {
        showError(error);
        return;
      }
    }
    forgetToken();
    blocked.value = { kind: 'signedOut' };
  };
  return (
    <button
      type="button"
      class="plain user"
      onClick={signOut}
      title={user ? texts.shell.signOutUser(user.label) : texts.shell.signOut}
    >
      {texts.shell.signOut}
    </button>
  );
}

/** Scrolls the tabs, which may not fit, so that the current one is visible. */
function showCurrentTab(nav: HTMLElement | null) {
  const link = nav?.querySelector<HTMLElement>('[aria-current="page"]');
  if (!nav || !link) return;
  const isVisible =
    link.offsetLeft >= nav.scrollLeft && link.offsetLeft + link.offsetWidth <= nav.scrollLeft + nav.clientWidth;
  if (!isVisible) nav.scrollLeft = link.offsetLeft - nav.offsetLeft - 24;
}

/** The header of every page: the brand, the tabs, and what applies to all of them. */
export function Header() {
  const { mode, tabs } = app.value;
  const { path } = place.value;
  const nav = useRef<HTMLElement>(null);
  useEffect(() => showCurrentTab(nav.current), [path]);
  const isCurrent = (tab: TabLink) => path === tab.path || path.startsWith(`${tab.path}/`);
  return (
    <header class="bar">
      <a class="brand" href={OVERVIEW}>
        <img src={brand.logo} alt="" height={22} />
        <b>{brand.name}</b>
      </a>
      {mode === 'production' && (
        <span class="chip mode" title={texts.shell.productionHint}>
          {texts.shell.production}
        </span>
      )}
      <nav class="tab-links" aria-label={texts.shell.console} ref={nav}>
        {tabs.map((tab) => (
          <a key={tab.id} href={tab.path} aria-current={isCurrent(tab) ? 'page' : undefined}>
            {Object.hasOwn(TAB_LABELS, tab.id) ? TAB_LABELS[tab.id] : tab.label}
          </a>
        ))}
      </nav>
      <div class="tools">
        <LiveIndicator />
        {path.startsWith(DATA) && <ViewAsButton />}
        <ThemeButton />
        <LanguageButton />
        <User />
      </div>
    </header>
  );
}
