import { signal } from '@preact/signals';
import { html } from 'htm/preact';
import { useEffect, useRef } from 'preact/hooks';
import { blocked, callApp, forgetToken, readToken } from '../api.js';
import { showError } from '../components/feedback.js';
import { IconButton } from '../components/icons.js';
import { app, DATA } from '../data/schema.js';
import { place } from '../router.js';
import { chooseTheme, readTheme, themeAfter } from '../theme.js';
import { liveState } from './live.js';
import { ViewAsButton } from './view-as.js';

const LIVE_TEXTS = { live: 'Live', lost: 'No connection; trying again…' };

const theme = signal(readTheme());

function ThemeButton() {
  const current = theme.value;
  const next = themeAfter(current);
  const change = () => {
    chooseTheme(next);
    theme.value = next;
  };
  return html`<${IconButton} icon=${current} label=${`Colours: ${current}. Change to ${next}`} onClick=${change} />`;
}

function LiveIndicator() {
  const state = liveState.value;
  if (state === 'off') return null;
  return html`<span class=${`live ${state}`} role="status" title=${LIVE_TEXTS[state]}>
    <span class="dot"></span><span class="text">${LIVE_TEXTS[state]}</span>
  </span>`;
}

function User() {
  const { user } = app.value;
  if (!user && readToken() === undefined) return null;
  const signOut = async () => {
    try {
      await callApp('/auth/logout', { method: 'POST' });
    } catch (error) {
      // A session that has already ended needs no logout.
      if (error.status !== 401) {
        showError(error);
        return;
      }
    }
    forgetToken();
    blocked.value = { kind: 'signedOut' };
  };
  return html`<button type="button" class="plain user" onClick=${signOut} title=${`Sign out ${user?.label ?? ''}`}>
    Sign out
  </button>`;
}

/** Scrolls the tabs, which may not fit, so that the current one is visible. */
function showCurrentTab(nav) {
  const link = nav.querySelector('[aria-current="page"]');
  if (!link) return;
  const isVisible =
    link.offsetLeft >= nav.scrollLeft && link.offsetLeft + link.offsetWidth <= nav.scrollLeft + nav.clientWidth;
  if (!isVisible) nav.scrollLeft = link.offsetLeft - nav.offsetLeft - 24;
}

/** The header of every page: the brand, the tabs, and what applies to all of them. */
export function Header() {
  const { mode, tabs } = app.value;
  const { path } = place.value;
  const nav = useRef(null);
  useEffect(() => showCurrentTab(nav.current), [path]);
  const isCurrent = (tab) => path === tab.path || path.startsWith(`${tab.path}/`);
  return html`<header class="bar">
    <a class="brand" href="/console/data">
      <img src="/console/assets/icon.svg" alt="" width="22" height="22" /><b>Console</b>
    </a>
    ${mode === 'production' && html`<span class="chip mode" title="Changes take effect in production">production</span>`}
    <nav class="tab-links" aria-label="Console" ref=${nav}>
      ${tabs.map(
        (tab) =>
          html`<a key=${tab.id} href=${tab.path} aria-current=${isCurrent(tab) ? 'page' : undefined}>${tab.label}</a>`,
      )}
    </nav>
    <div class="tools"><${LiveIndicator} />${path.startsWith(DATA) && html`<${ViewAsButton} />`}<${ThemeButton} /><${User} /></div>
  </header>`;
}
