import { announce, problemBox } from './dom.js';
import { texts } from './texts.js';

/** The module of each page, by the end of its path. */
const PAGES = {
  'sign-in': () => import('./sign-in.js'),
  register: () => import('./register.js'),
  forgot: () => import('./forgot.js'),
  reset: () => import('./reset.js'),
  verify: () => import('./verify.js'),
  'change-email': () => import('./change-email.js'),
  'undo-email-change': () => import('./undo-email-change.js'),
  email: () => import('./email.js'),
  callback: () => import('./callback.js'),
  invitation: () => import('./invitation.js'),
  'organisation-invitation': () => import('./organisation-invitation.js'),
  'two-factor': () => import('./two-factor.js'),
  account: () => import('./account.js'),
};

// A link with a token that is opened in the tab of the same page changes only the fragment, which does not load the page again.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#token=')) location.reload();
});

try {
  const name = location.pathname.replace(/\/$/, '').split('/').at(-1);
  const { showPage } = await PAGES[name]();
  await showPage();
} catch (error) {
  document.getElementById('main').append(problemBox(error.message || texts.errors.unknown));
  announce(texts.errors.unknown);
}
document.body.dataset.ready = '';
