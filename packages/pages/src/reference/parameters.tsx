import { Section } from '../kit/parts.tsx';
import { mediaTypes, type OpenApiDocument, type Parameter, simplify } from './document.ts';
import type { Operation } from './operations.ts';
import { typeText } from './schema-text.ts';
import { MemberHead, SchemaTree, Values } from './schema-tree.tsx';
import { texts } from './texts.ts';

const PLACES = ['path', 'query', 'header'] as const;
/** From this number of parameters on, a group of them is folded. */
const FOLDED_FROM = 12;

function ParameterRow({ parameter, document }: { parameter: Parameter; document: OpenApiDocument }) {
  const { name, description, required = false } = parameter;
  const { schema, alternatives } = simplify(parameter.schema ?? {}, document);
  const items = schema.type === 'array' && schema.items ? simplify(schema.items, document).schema : undefined;
  const type = items === undefined ? typeText(schema, alternatives) : texts.parameters.separated(typeText(items));
  return (
    <li class="reference-member">
      <MemberHead name={name} type={type} isRequired={required} schema={schema} />
      {description && <p class="soft">{description}</p>}
      <Values schema={items ?? schema} />
    </li>
  );
}

function ParameterList({
  list,
  document,
  label,
}: {
  list: readonly Parameter[];
  document: OpenApiDocument;
  label: string;
}) {
  const rows = (
    <ul class="reference-members">
      {list.map((parameter) => (
        <ParameterRow key={parameter.name} parameter={parameter} document={document} />
      ))}
    </ul>
  );
  if (list.length < FOLDED_FROM)
    return (
      <>
        <h3>{label}</h3>
        {rows}
      </>
    );
  return (
    <details class="reference-nested">
      <summary>{texts.parameters.folded(label, list.length)}</summary>
      {rows}
    </details>
  );
}

interface OperationProps {
  operation: Operation;
  document: OpenApiDocument;
}

/** The parameters of an operation, by place. */
export function Parameters({ operation: { parameters }, document }: OperationProps) {
  if (parameters.length === 0) return null;
  return (
    <Section title={texts.parameters.heading}>
      {PLACES.map((place) => {
        const list = parameters.filter((one) => one.in === place);
        const label = texts.parameters.places[place];
        return list.length > 0 && <ParameterList key={place} label={label} list={list} document={document} />;
      })}
    </Section>
  );
}

/** The body that an operation accepts, in each media type. */
export function Body({ operation: { body }, document }: OperationProps) {
  if (body === undefined) return null;
  return (
    <Section title={texts.body.heading}>
      {body.description && <p class="soft">{body.description}</p>}
      {!body.required && <p class="soft">{texts.body.optional}</p>}
      {mediaTypes(body).map((type, index) => {
        const { schema = {} } = body.content[type] ?? {};
        return (
          <div key={type}>
            <h3>
              <code>{type}</code>
            </h3>
            {schema.description && <p class="soft">{schema.description}</p>}
            {index === 0 || type.startsWith('multipart') ? (
              <SchemaTree schema={schema} document={document} direction="input" />
            ) : (
              <p class="soft">{texts.body.same}</p>
            )}
          </div>
        );
      })}
    </Section>
  );
}
