import { withRecentSignIn } from './confirm.js';
import { button, element, link, paragraph, problemBox, showView } from './dom.js';
import { takeFlow } from './oidc.js';
import { continueSignIn, pagePath, request, requestAsUser } from './session.js';
import { texts } from './texts.js';

const { callback: text } = texts;

function showFailure(message, flow) {
  const isLink = flow?.purpose === 'link';
  const heading = isLink ? text.linkFailedHeading : text.failedHeading;
  const back = isLink ? '/auth/account' : pagePath('sign-in', flow?.next);
  showView(heading, problemBox(message), element('p', {}, link(back, text.back)));
}

/** Asks before an account is linked, so that no link on another site can do it. The code works for a minute. */
function showLinkConsent(code, flow) {
  const { provider, name, codeVerifier } = flow;

  async function complete() {
    const path = `/auth/oidc/${encodeURIComponent(provider)}/link/complete`;
    try {
      await withRecentSignIn(() => requestAsUser('POST', path, { code, codeVerifier }));
    } catch (error) {
      if (error.isCancelled) throw error;
      showFailure(error.message, flow);
      return;
    }
    location.replace('/auth/account');
  }

  const cancel = element('p.footer', {}, link('/auth/account', texts.cancel));
  showView(
    text.linkHeading,
    paragraph(text.linkIntro(name)),
    button(text.linkSubmit, complete, { kind: 'primary' }),
    cancel,
  );
}

export async function showPage() {
  const query = new URLSearchParams(location.search);
  history.replaceState(null, '', location.pathname);
  const flow = takeFlow();
  const error = query.get('error');
  const code = query.get('code');
  if (error !== null || code === null || flow === undefined) {
    const reason = error ?? 'sign_in_expired';
    showFailure(Object.hasOwn(text.errors, reason) ? text.errors[reason] : text.errors.other, flow);
    return;
  }
  if (flow.purpose === 'link') {
    showLinkConsent(code, flow);
    return;
  }
  showView(text.heading);
  try {
    const { codeVerifier, next } = flow;
    continueSignIn(await request('POST', '/auth/oidc/exchange', { code, codeVerifier }), next);
  } catch (failure) {
    showFailure(failure.message, flow);
  }
}
