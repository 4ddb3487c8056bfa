import '../kit/tokens.css';
import '../kit/base.css';
import '../kit/controls.css';
import '../kit/overlays.css';
import './pages.css';
import { type FunctionComponent, render } from 'preact';
import { useErrorBoundary, useLayoutEffect } from 'preact/hooks';
import { LanguageSwitch } from '../kit/language-switch.tsx';
import { toRequestError } from '../kit/request.ts';
import { texts } from './texts.ts';
import { announce, Problem } from './view.tsx';

/** The module of each page, by the end of its path. */
const PAGES: Readonly<Record<string, () => Promise<{ Page: FunctionComponent }>>> = {
  'sign-in': () => import('./sign-in.tsx'),
  register: () => import('./register.tsx'),
  forgot: () => import('./forgot.tsx'),
  reset: () => import('./reset.tsx'),
  verify: () => import('./verify.tsx'),
  'change-email': () => import('./change-email.tsx'),
  'undo-email-change': () => import('./undo-email-change.tsx'),
  email: () => import('./email.tsx'),
  callback: () => import('./callback.tsx'),
  invitation: () => import('./invitation.tsx'),
  'organisation-invitation': () => import('./organisation-invitation.tsx'),
  'two-factor': () => import('./two-factor.tsx'),
  account: () => import('./account.tsx'),
};

/** Shown in place of a page that cannot be. */
function Failure({ error }: { error: unknown }) {
  useLayoutEffect(() => {
    announce(texts.errors.unknown);
    document.body.dataset.ready = '';
  }, []);
  return <Problem text={toRequestError(error).message || texts.errors.unknown} />;
}

function App({ Page }: { Page: FunctionComponent }) {
  const [error] = useErrorBoundary();
  return error === undefined ? <Page /> : <Failure error={error} />;
}

// A link with a token that is opened in the tab of the same page changes only the fragment, which does not load the page again.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#token=')) location.reload();
});

const main = document.getElementById('main') ?? document.body;
main.replaceChildren();
const name = location.pathname.replace(/\/$/, '').split('/').at(-1) ?? '';
// The answer of a provider can be read once, so its page cannot be loaded again in another language.
const footer = document.getElementById('footer');
if (footer !== null && name !== 'callback') render(<LanguageSwitch />, footer);
try {
  const load = PAGES[name];
  if (load === undefined) throw new Error(texts.errors.unknown);
  // The file of a page that belongs to a former version is gone.
  const { Page } = await load().catch(() => {
    throw new Error(texts.errors.updated);
  });
  render(<App Page={Page} />, main);
} catch (error) {
  render(<Failure error={error} />, main);
}
