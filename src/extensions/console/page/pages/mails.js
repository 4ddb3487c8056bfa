import { element, updateList } from './element.js';
import { read, readQuietly } from './requests.js';

const byId = (id) => document.getElementById(id);
/** Interval in ms at which the list of captured e-mails is read while the page is visible. */
const READ_EVERY_MS = 2000;

let texts = [];
let captured = [];
/** The number of the newest selection: the response to an older one is not shown. */
let selection = 0;

/** The selected e-mail, from the fragment of the URL: `#texts/verify-email/de` or `#captured/<id>`. */
function selectedParts() {
  const [list, name, locale] = location.hash.slice(1).split('/').map(decodeURIComponent);
  return list === 'captured' ? { list, name } : { list: 'texts', name: name ?? texts[0]?.kind, locale: locale ?? 'en' };
}

const hrefOf = (...parts) => `#${parts.map(encodeURIComponent).join('/')}`;

function markCurrent() {
  const { list, name } = selectedParts();
  for (const link of document.querySelectorAll('.lists a')) {
    if (link.dataset.mail === `${list}/${name}`) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
}

const textLink = ({ kind }) =>
  element('li', {}, element('a', { href: hrefOf('texts', kind), 'data-mail': `texts/${kind}` }, kind));

const capturedLink = ({ id, to, subject }) =>
  element(
    'li',
    {},
    element(
      'a',
      { href: hrefOf('captured', id), 'data-mail': `captured/${id}` },
      element('span.subject', {}, subject),
      element('span.to', {}, to),
    ),
  );

function showLocales(locales, locale) {
  byId('locale-field').hidden = locales.length === 0;
  const options = locales.map((one) => element('option', { value: one, selected: one === locale }, one));
  byId('locale').replaceChildren(...options);
}

async function showSelected() {
  const { list, name, locale } = selectedParts();
  markCurrent();
  const number = ++selection;
  const text = texts.find(({ kind }) => kind === name);
  const path = list === 'captured' ? `captured/${name}` : `texts/${name}/${locale}`;
  const mail = await read(`/console/mails/${path}`);
  if (number !== selection) return;
  byId('mail-title').textContent = list === 'captured' ? 'Captured e-mail' : name;
  byId('about').textContent = list === 'captured' ? `To ${mail?.to ?? '…'}` : (text?.description ?? '');
  showLocales(list === 'captured' ? [] : (text?.locales ?? []), locale);
  byId('subject').textContent = mail?.subject ?? '';
  byId('text').textContent = mail?.text ?? '';
  // A new frame instead of a new address: the back button must not go through the addresses of the frame.
  const frame = byId('html').cloneNode();
  if (mail === undefined) frame.removeAttribute('src');
  else frame.src = `/console/mails/${path}/html`;
  byId('html').replaceWith(frame);
  byId('mail').hidden = false;
}

async function readCaptured() {
  if (document.visibilityState !== 'visible') return;
  const found = await readQuietly('/console/mails/captured');
  if (found === undefined) return;
  captured = found;
  updateList(byId('captured'), captured, capturedLink);
  byId('no-captured').hidden = captured.length > 0;
  markCurrent();
}

byId('locale').addEventListener('change', ({ target }) => {
  location.hash = hrefOf('texts', selectedParts().name, target.value);
});
addEventListener('hashchange', showSelected);
addEventListener('visibilitychange', readCaptured);
texts = (await read('/console/mails/texts')) ?? [];
byId('texts').replaceChildren(...texts.map(textLink));
showSelected();
readCaptured();
setInterval(readCaptured, READ_EVERY_MS);
