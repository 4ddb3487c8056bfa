import { Choice, Code, hrefOf, isSafeLink, Loaded, place, Section, setParams, useLoaded } from '../../console/kit.ts';
import { texts } from './texts.ts';
import type { Mail } from './types.ts';

const { views, widths, schemes, images } = texts;

/** The ways to show an e-mail, by the name of their parameter. The first option is the default. */
const CHOICES = {
  view: { label: views.label, options: { html: views.html, source: views.source } },
  width: { label: widths.label, options: { desktop: widths.desktop, phone: widths.phone } },
  scheme: { label: schemes.label, options: { light: schemes.light, dark: schemes.dark } },
  images: { label: images.label, options: { blocked: images.blocked, loaded: images.loaded } },
};

type ChoiceName = keyof typeof CHOICES;

const firstOf = (name: ChoiceName) => Object.keys(CHOICES[name].options)[0]!;

/** The chosen option of a parameter in the address. */
function chosen(name: ChoiceName): string {
  const value = place.value.params.get(name);
  return value !== null && Object.hasOwn(CHOICES[name].options, value) ? value : firstOf(name);
}

/** The parameters of the address that say how e-mails are shown, for a link to another e-mail. */
export function viewParams() {
  return new URLSearchParams([...place.value.params].filter(([name]) => Object.hasOwn(CHOICES, name)));
}

function ViewChoice({ name }: { name: ChoiceName }) {
  const { label, options } = CHOICES[name];
  const choose = (option: string) =>
    setParams({ [name]: option === firstOf(name) ? undefined : option }, { replace: true });
  return <Choice label={label} options={Object.entries(options)} value={chosen(name)} onChange={choose} />;
}

/** Whether an e-mail has images or fonts of other servers, which would learn that it is read. */
const hasRemoteFiles = ({ html }: Mail) => /(?:\b(?:src|background)\s*=\s*["']?|url\(\s*["']?)https?:/i.test(html);

/** The HTML of an e-mail in a frame that runs no scripts, sends no forms and follows no links. Its address works for a minute, without the session. */
function Frame({ path }: { path: string }) {
  const scheme = chosen('scheme');
  const options = new URLSearchParams({ scheme, images: chosen('images') });
  const frame = useLoaded<{ url: string }>(hrefOf(`${path}/frame`, options));
  // A new frame instead of a new address: the back button must not go through the addresses of the frame.
  return (
    <div class={`mails-stage ${chosen('width')}`}>
      <Loaded from={frame}>
        {({ url }) => (
          <iframe key={url} class={`mails-frame ${scheme}`} title={texts.htmlPart} sandbox="" src={url}></iframe>
        )}
      </Loaded>
    </div>
  );
}

function Links({ links }: { links: string[] }) {
  return (
    <Section title={texts.links}>
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

/** The HTML and beside it, on a narrow screen below it, the text. */
function Parts({ mail, path }: { mail: Mail; path: string }) {
  return (
    <div class="mails-parts">
      <Frame path={path} />
      <div class="mails-text">
        <h2>{texts.textHeading}</h2>
        <Code text={mail.text} label={texts.textPart} />
      </div>
    </div>
  );
}

/**
 * An e-mail as a mail program shows it, with its text, or as source. How it is shown is in the address. `path`: of the e-mail, below `/console/api`.
 */
export function MailPreview({ mail, path }: { mail: Mail; path: string }) {
  const isSource = chosen('view') === 'source';
  return (
    <>
      <article class="mails-preview" aria-label={texts.preview}>
        <header>
          <p class="mails-subject" aria-live="polite">
            {mail.subject}
          </p>
          <p class="soft">{texts.to(mail.to)}</p>
        </header>
        <div class="mails-tools">
          <ViewChoice name="view" />
          {!isSource && (
            <>
              <ViewChoice name="width" />
              <ViewChoice name="scheme" />
              {hasRemoteFiles(mail) && <ViewChoice name="images" />}
            </>
          )}
        </div>
        {isSource ? (
          <div class="mails-code">
            <Code text={mail.html} label={texts.sourcePart} />
          </div>
        ) : (
          <Parts mail={mail} path={path} />
        )}
      </article>
      {mail.links.length > 0 && <Links links={mail.links} />}
    </>
  );
}
