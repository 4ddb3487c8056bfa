import { Code } from '../kit/copy.tsx';
import { durationText } from '../kit/format.tsx';
import { Icon } from '../kit/icons.tsx';
import { numberText } from '../kit/numbers.ts';
import { Facts, Section } from '../kit/parts.tsx';
import { richText } from '../kit/rich-text.ts';
import { type OpenApiDocument, type OperationObject, resolve } from './document.ts';
import { exampleOf } from './example.ts';
import { ExampleText, Method, Nested, Paragraphs } from './parts.tsx';
import { rateText } from './policy.ts';
import { hrefOf, type Reference } from './reference.ts';
import { CallerButton } from './runner/caller-dialog.tsx';
import { history } from './runner/history.ts';
import { saveBlob } from './save.ts';
import { SchemaTree } from './schema-tree.tsx';
import { texts } from './texts.ts';

const ERROR = `{
  "error": {
    "code": "VALIDATION_ERROR",
    "message": "The request is invalid",
    "details": { "title": "Is required" },
    "requestId": "01JB7Y0V4T5QYJ"
  }
}`;

function saveDocument(document: OpenApiDocument) {
  saveBlob(new Blob([JSON.stringify(document, null, 2)], { type: 'application/json' }), 'openapi.json');
}

function SentRequests({ reference: { byId, site } }: { reference: Reference }) {
  const entries = history.value.filter(({ operation }) => byId.has(operation));
  if (entries.length === 0) return <p class="soft">{texts.overview.nothingSent}</p>;
  return (
    <ul class="reference-history">
      {entries.map((entry) => (
        <li key={entry.at}>
          <Method method={entry.method} />
          <a href={hrefOf(site, entry.operation)}>
            <code>{entry.path}</code>
          </a>
          <span class="soft">
            {entry.status || texts.overview.failed} · {durationText(entry.ms)}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Event({ name, post, document }: { name: string; post: OperationObject; document: OpenApiDocument }) {
  const schema = post.requestBody?.content['application/json']?.schema ?? {};
  const headers = (post.parameters ?? []).map((parameter) => resolve(parameter, document).name);
  const label = (
    <>
      <code>{name}</code>
      <span class="reference-summary soft">{post.summary}</span>
    </>
  );
  return (
    <Nested label={label}>
      {() => (
        <>
          <SchemaTree schema={schema} document={document} direction="output" />
          <ExampleText label={texts.exampleOf(name)} value={exampleOf(schema, document, 'output')} />
          <p class="soft">{texts.headers(headers.join(', '))}</p>
        </>
      )}
    </Nested>
  );
}

/** The events that the app sends to webhook endpoints. */
function Events({ document }: { document: OpenApiDocument }) {
  const events = Object.entries(document.webhooks ?? {});
  if (events.length === 0) return null;
  return (
    <Section title={texts.overview.events}>
      <p class="part-text soft">{richText(texts.overview.eventsText, { method: <code>POST</code> })}</p>
      <div class="reference-responses">
        {events.map(([name, { post }]) => (
          <Event key={name} name={name} post={post} document={document} />
        ))}
      </div>
    </Section>
  );
}

/** How requests prove who sends them. */
function SignIn({ document }: { document: OpenApiDocument }) {
  const schemes = Object.entries(document.components?.securitySchemes ?? {});
  if (schemes.length === 0) return null;
  return (
    <Section title={texts.signIn}>
      <p class="part-text soft">
        {richText(texts.overview.signInText, { header: <code>Authorization: Bearer …</code> })}
      </p>
      <ul class="reference-members">
        {schemes.map(([name, { bearerFormat, description = '' }]) => (
          <li key={name} class="reference-member">
            <p class="reference-member-head">
              <code class="reference-name">{name}</code>
              <span class="reference-type">{bearerFormat}</span>
            </p>
            <Paragraphs text={description} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function AtAGlance({ reference: { document, operations, site } }: { reference: Reference }) {
  const events = Object.keys(document.webhooks ?? {});
  const own = texts.overview;
  const limit = site.totalLimit && rateText(site.totalLimit);
  return (
    <Section title={own.glance}>
      <Facts
        of={[
          [own.baseUrl, <code>{`${location.origin}/api`}</code>],
          [own.version, document.info.version],
          [own.routes, numberText(operations.length)],
          [own.events, events.length === 0 ? undefined : numberText(events.length)],
          [own.limit, limit === null ? own.noLimit : limit],
          [own.contentType, <code>application/json</code>],
        ]}
      />
    </Section>
  );
}

/** The start of the reference: what holds for all routes. */
export function Overview({ reference }: { reference: Reference }) {
  const { document, site } = reference;
  const { title, description = '' } = document.info;
  return (
    <site.Page
      title={texts.overview.title(title)}
      intro={texts.overview.intro}
      actions={
        <>
          <CallerButton reference={reference} />
          <button type="button" onClick={() => saveDocument(document)}>
            <Icon name="download" />
            {texts.overview.document}
          </button>
        </>
      }
    >
      <Paragraphs text={description} />
      <AtAGlance reference={reference} />
      <SignIn document={document} />
      <Section title={texts.overview.errors}>
        <p class="part-text soft">
          {richText(texts.overview.errorsText, { code: <code>code</code>, requestId: <code>requestId</code> })}
        </p>
        <Code text={ERROR} label={texts.overview.errorExample} />
      </Section>
      <Section title={texts.overview.sent}>
        <SentRequests reference={reference} />
      </Section>
      <Events document={document} />
    </site.Page>
  );
}
