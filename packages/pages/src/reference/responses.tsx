import { Section } from '../kit/parts.tsx';
import { richText } from '../kit/rich-text.ts';
import { mediaTypes, type OpenApiDocument, type ResponseObject, type Schema, simplify } from './document.ts';
import { exampleError, exampleOf } from './example.ts';
import type { Operation } from './operations.ts';
import { ExampleText, Nested, Paragraphs } from './parts.tsx';
import { SchemaTree } from './schema-tree.tsx';
import { texts } from './texts.ts';

/** Up to this number of codes, the line of an error response names all of them. */
const MAX_CODES = 4;

const statusKind = (status: string) => (status.startsWith('2') ? 'good' : status.startsWith('3') ? 'neutral' : 'warn');

/** The message of the first code in the description of an error response. */
const messageOf = (description: string) => /^`\w+`: (.*?)\.( `|$)/.exec(description)?.[1] ?? description;

function ErrorContent({ status, description, code }: { status: string; description: string; code: string }) {
  return (
    <>
      <Paragraphs text={description} />
      <ExampleText label={texts.exampleOf(status)} value={exampleError(code, messageOf(description))} />
    </>
  );
}

function SuccessContent({ status, schema, document }: { status: string; schema: Schema; document: OpenApiDocument }) {
  return (
    <>
      <SchemaTree schema={schema} document={document} direction="output" />
      <ExampleText label={texts.exampleOf(status)} value={exampleOf(schema, document, 'output')} />
    </>
  );
}

/** The codes of an error response; none for other responses. */
function codesOf(schema: Schema, document: OpenApiDocument): string[] {
  const { error } = simplify(schema, document).schema.properties ?? {};
  const { code } = (error && simplify(error, document).schema.properties) ?? {};
  return (code?.enum ?? []).map(String);
}

function ResponsePart({
  status,
  response,
  document,
}: {
  status: string;
  response: ResponseObject;
  document: OpenApiDocument;
}) {
  const { content = {}, headers, description = '' } = response;
  const [type] = mediaTypes(response);
  const schema = type === undefined ? undefined : content[type]?.schema;
  const codes = schema === undefined ? [] : codesOf(schema, document);
  const [firstCode] = codes;
  const label = (
    <>
      <span class={`status ${statusKind(status)}`}>{status}</span>
      <span class="reference-summary">
        {firstCode !== undefined && codes.length <= MAX_CODES ? codes.join(', ') : description}
      </span>
    </>
  );
  return (
    <Nested label={label}>
      {() => (
        <>
          {firstCode !== undefined ? (
            <ErrorContent status={status} description={description} code={firstCode} />
          ) : (
            schema && <SuccessContent status={status} schema={schema} document={document} />
          )}
          {type !== undefined && type !== 'application/json' && (
            <p class="soft">{richText(texts.responses.type, { type: <code>{type}</code> })}</p>
          )}
          {headers && <p class="soft">{texts.headers(Object.keys(headers).join(', '))}</p>}
        </>
      )}
    </Nested>
  );
}

/** The responses of an operation, with their schemas and examples. */
export function Responses({ operation, document }: { operation: Operation; document: OpenApiDocument }) {
  return (
    <Section title={texts.responses.heading}>
      <div class="reference-responses">
        {Object.entries(operation.responses).map(([status, response]) => (
          <ResponsePart key={status} status={status} response={response} document={document} />
        ))}
      </div>
    </Section>
  );
}
