import { Choice, Code, isSafeLink, place, Section, setParams } from '../../console/kit.ts';
import type { Mail } from './types.ts';

const API = '/console/api';

/** The ways to show an e-mail, by the name of their parameter. */
const CHOICES = {
  view: { label: 'View', first: 'html', options: { html: 'HTML', text: 'Text', source: 'Source' } },
  width: { label: 'Width', first: 'desktop', options: { desktop: 'Desktop', phone: 'Phone' } },
  scheme: { label: 'Colours', first: 'light', options: { light: 'Light', dark: 'Dark' } },
} as const;

type ChoiceName = keyof typeof CHOICES;

/** The chosen option of a parameter in the address. */
function chosen(name: ChoiceName): string {
  const { first, options } = CHOICES[name];
  const value = place.value.params.get(name);
  return value !== null && Object.hasOwn(options, value) ? value : first;
}

/** The parameters of the address that say how e-mails are shown, for a link to another e-mail. */
export function viewParams() {
  return new URLSearchParams([...place.value.params].filter(([name]) => Object.hasOwn(CHOICES, name)));
}

function ViewChoice({ name }: { name: ChoiceName }) {
  const { label, first, options } = CHOICES[name];
  const choose = (option: string) => setParams({ [name]: option === first ? undefined : option }, { replace: true });
  return <Choice label={label} options={Object.entries(options)} value={chosen(name)} onChange={choose} />;
}

/** The HTML of an e-mail in a frame that runs no scripts, sends no forms and follows no links. */
function Frame({ path }: { path: string }) {
  const scheme = chosen('scheme');
  const address = `${API}${path}/html?${new URLSearchParams({ scheme })}`;
  // A new frame instead of a new address: the back button must not go through the addresses of the frame.
  return (
    <div class={`mails-stage ${chosen('width')}`}>
      <iframe
        key={address}
        class={`mails-frame ${scheme}`}
        title="HTML of the e-mail"
        sandbox=""
        src={address}
      ></iframe>
    </div>
  );
}

function Links({ links }: { links: string[] }) {
  return (
    <Section title="Links">
      <ul class="mails-links">
        {links.filter(isSafeLink).map((link) => (
          <li key={link}>
            <a href={link} target="_blank" rel="noopener noreferrer">
              {link}
            </a>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/**
 * An e-mail as a mail program shows it, as text, or as source. How it is shown is in the address. `path`: of the e-mail, below `/console/api`.
 */
export function MailPreview({ mail, path }: { mail: Mail; path: string }) {
  const view = chosen('view');
  return (
    <>
      <article class="mails-preview" aria-label="Preview">
        <header>
          <p class="mails-subject" aria-live="polite">
            {mail.subject}
          </p>
          <p class="soft">To {mail.to}</p>
        </header>
        <div class="mails-tools">
          <ViewChoice name="view" />
          {view === 'html' && (
            <>
              <ViewChoice name="width" />
              <ViewChoice name="scheme" />
            </>
          )}
        </div>
        {view === 'html' && <Frame path={path} />}
        {view === 'text' && (
          <div class="mails-code">
            <Code text={mail.text} label="Text of the e-mail" />
          </div>
        )}
        {view === 'source' && (
          <div class="mails-code">
            <Code text={mail.html} label="Source of the HTML" />
          </div>
        )}
      </article>
      {mail.links.length > 0 && <Links links={mail.links} />}
    </>
  );
}
