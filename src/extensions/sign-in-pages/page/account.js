import { passkeySection } from './account-passkeys.js';
import { signInSections } from './account-sign-in.js';
import { twoFactorSection } from './account-two-factor.js';
import { button, element, reportDone, showView, timeText } from './dom.js';
import { forgetSession, offers, pagePath, requestAsUser } from './session.js';
import { texts } from './texts.js';

const { account: text } = texts;

function leaveSignedOut() {
  forgetSession();
  location.replace(pagePath('sign-in'));
}

/** A short name for a browser: the text that it sends is long, and only partly meant for people. */
function deviceName(userAgent) {
  const browser = /(Edg|OPR|Firefox|Chrome|Safari)\//.exec(userAgent)?.[1];
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(userAgent)?.[1];
  const names = { Edg: 'Edge', OPR: 'Opera', 'Mac OS X': 'macOS' };
  const parts = [browser, system].filter((part) => part !== undefined).map((part) => names[part] ?? part);
  return parts.join(', ') || userAgent.slice(0, 60) || text.unknownDevice;
}

function sessionItem(session, list, refresh) {
  const device = deviceName(session.userAgent);
  const used = timeText(session.lastUsedAt);
  async function end() {
    await requestAsUser('DELETE', `/auth/sessions/${session.id}`);
    await refresh();
    reportDone(text.ended, list);
  }
  return element(
    'li.item',
    {},
    element(
      'div',
      {},
      element('strong', {}, device),
      session.current ? element('span.badge', {}, text.thisSession) : undefined,
      element('p.hint', {}, text.sessionUsed(used, session.ip)),
    ),
    session.current ? undefined : button(text.end, end, { label: text.endSession(device, used) }),
  );
}

async function sessionSection() {
  const list = element('ul.items');
  async function refresh() {
    const sessions = await requestAsUser('GET', '/auth/sessions');
    list.replaceChildren(...sessions.map((session) => sessionItem(session, list, refresh)));
  }
  async function endAll() {
    await requestAsUser('POST', '/auth/logout-all');
    leaveSignedOut();
  }
  await refresh();
  return element('section', {}, element('h2', {}, text.sessionsHeading), list, button(text.endAll, endAll));
}

export async function showPage() {
  async function signOut() {
    await requestAsUser('POST', '/auth/logout');
    leaveSignedOut();
  }
  const methods = await requestAsUser('GET', '/auth/sign-in-methods');
  const hasPassword = methods.includes('password');
  const sections = await Promise.all([
    signInSections(methods),
    offers('passkeys') ? passkeySection() : undefined,
    offers('twoFactor') ? twoFactorSection(hasPassword) : undefined,
    sessionSection(),
  ]);
  showView(text.heading, ...sections.flat(), button(text.signOut, signOut));
}
