import { Code } from '../kit/copy.tsx';
import { Icon } from '../kit/icons.tsx';
import { Facts, Section } from '../kit/parts.tsx';
import { type OpenApiDocument, type OperationObject, resolve } from './document.ts';
import { exampleOf } from './example.ts';
import { ExampleText, Method, Nested, Paragraphs } from './parts.tsx';
import { rateText } from './policy.ts';
import { hrefOf, type Reference } from './reference.ts';
import { CallerButton } from './runner/caller-dialog.tsx';
import { history } from './runner/history.ts';
import { saveBlob } from './save.ts';
import { SchemaTree } from './schema-tree.tsx';

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
  if (entries.length === 0)
    return (
      <p class="soft">
        Open a route and choose “Send request”. The last 20 requests of this browser tab appear here, without secret
        values.
      </p>
    );
  return (
    <ul class="reference-history">
      {entries.map((entry) => (
        <li key={entry.at}>
          <Method method={entry.method} />
          <a href={hrefOf(site, entry.operation)}>
            <code>{entry.path}</code>
          </a>
          <span class="soft">
            {entry.status || 'failed'} · {entry.ms} ms
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
          <ExampleText label={`Example of ${name}`} value={exampleOf(schema, document, 'output')} />
          <p class="soft">Headers: {headers.join(', ')}</p>
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
    <Section title="Webhook events">
      <p class="part-text soft">
        Endpoints of users receive these events as signed <code>POST</code> requests.
      </p>
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
    <Section title="Sign-in">
      <p class="part-text soft">
        Send the token in the header <code>Authorization: Bearer …</code>
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
  const limit = site.totalLimit && rateText(site.totalLimit);
  return (
    <Section title="At a glance">
      <Facts
        of={[
          ['Base URL', <code>{`${location.origin}/api`}</code>],
          ['Version of the API', document.info.version],
          ['Routes', operations.length],
          ['Webhook events', events.length === 0 ? undefined : events.length],
          ['Rate limit of a client', limit === null ? 'none' : limit],
          ['Content type', <code>application/json</code>],
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
      title={`${title} reference`}
      intro="Every route of the app, generated from its declarations. Search in the sidebar, or press /."
      actions={
        <>
          <CallerButton reference={reference} />
          <button type="button" onClick={() => saveDocument(document)}>
            <Icon name="download" />
            OpenAPI
          </button>
        </>
      }
    >
      <Paragraphs text={description} />
      <AtAGlance reference={reference} />
      <SignIn document={document} />
      <Section title="Errors">
        <p class="part-text soft">
          Every error has the same form. Clients decide by <code>code</code>; <code>requestId</code> finds the request
          in the log.
        </p>
        <Code text={ERROR} label="Example of an error" />
      </Section>
      <Section title="Requests of this browser tab">
        <SentRequests reference={reference} />
      </Section>
      <Events document={document} />
    </site.Page>
  );
}
