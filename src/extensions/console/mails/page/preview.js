import { Choice, Code, html, isSafeLink, place, Section, setParams } from 'belfry/console';

const API = '/console/api';

/** The ways to show an e-mail, by the name of their parameter. The first option is the default. */
const CHOICES = {
  view: {
    label: 'View',
    options: [
      ['html', 'HTML'],
      ['text', 'Text'],
      ['source', 'Source'],
    ],
  },
  width: {
    label: 'Width',
    options: [
      ['desktop', 'Desktop'],
      ['phone', 'Phone'],
    ],
  },
  scheme: {
    label: 'Colours',
    options: [
      ['light', 'Light'],
      ['dark', 'Dark'],
    ],
  },
};

/** The chosen option of a parameter in the address. */
function chosen(name) {
  const value = place.value.params.get(name);
  const { options } = CHOICES[name];
  return options.some(([option]) => option === value) ? value : options[0][0];
}

/** The parameters of the address that say how e-mails are shown, for a link to another e-mail. */
export function viewParams() {
  return new URLSearchParams([...place.value.params].filter(([name]) => Object.hasOwn(CHOICES, name)));
}

function ViewChoice({ name }) {
  const { label, options } = CHOICES[name];
  const choose = (option) => setParams({ [name]: option === options[0][0] ? undefined : option }, { replace: true });
  return html`<${Choice} label=${label} options=${options} value=${chosen(name)} onChange=${choose} />`;
}

/** The HTML of an e-mail in a frame that runs no scripts, sends no forms and follows no links. */
function Frame({ path }) {
  const scheme = chosen('scheme');
  const address = `${API}${path}/html?${new URLSearchParams({ scheme })}`;
  // A new frame instead of a new address: the back button must not go through the addresses of the frame.
  return html`<div class=${`mails-stage ${chosen('width')}`}>
    <iframe key=${address} class=${`mails-frame ${scheme}`} title="HTML of the e-mail" sandbox="" src=${address}></iframe>
  </div>`;
}

function Links({ links }) {
  return html`<${Section} title="Links">
    <ul class="mails-links">
      ${links
        .filter(isSafeLink)
        .map(
          (link) => html`<li key=${link}><a href=${link} target="_blank" rel="noopener noreferrer">${link}</a></li>`,
        )}
    </ul>
  <//>`;
}

/**
 * An e-mail as a mail program shows it, as text, or as source. How it is shown is in the address.
 *
 * @param {{ mail: { to: string, subject: string, text: string, html: string, links: string[] }, path: string }} props `path`: that of the
 *   e-mail below `/console/api`
 */
export function MailPreview({ mail, path }) {
  const view = chosen('view');
  return html`<article class="mails-preview" aria-label="Preview">
      <header>
        <p class="mails-subject" aria-live="polite">${mail.subject}</p>
        <p class="soft">To ${mail.to}</p>
      </header>
      <div class="mails-tools">
        <${ViewChoice} name="view" />
        ${view === 'html' && html`<${ViewChoice} name="width" /><${ViewChoice} name="scheme" />`}
      </div>
      ${view === 'html' && html`<${Frame} path=${path} />`}
      ${view === 'text' && html`<div class="mails-code"><${Code} text=${mail.text} label="Text of the e-mail" /></div>`}
      ${view === 'source' && html`<div class="mails-code"><${Code} text=${mail.html} label="Source of the HTML" /></div>`}
    </article>
    ${mail.links.length > 0 && html`<${Links} links=${mail.links} />`}`;
}
