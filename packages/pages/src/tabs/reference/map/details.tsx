import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import {
  dataHref,
  Facts,
  type FieldInfo,
  hrefOf,
  IconButton,
  type ResourceInfo,
  Section,
} from '../../../console/kit.ts';
import { richText } from '../../../kit/rich-text.ts';
import { policyInWords } from '../../../reference/policy.ts';
import { texts } from '../texts.ts';
import { ACTIONS, type AccessRule, type Action } from './access.ts';
import { fieldType, incomingOf, markersOf } from './boxes.ts';
import type { MappedResource } from './resource-map.ts';

const resourceHref = (name: string) =>
  hrefOf('/console/reference/map/resources', new URLSearchParams({ resource: name }));

/** A link to the details of a resource. */
const ToResource = ({ name }: { name: string }) => <a href={resourceHref(name)}>{name}</a>;

function Field({ field }: { field: FieldInfo }) {
  const { name, required, description, values, visibleTo, writableBy } = field;
  return (
    <li class="reference-member">
      <p class="reference-member-head">
        <code class="reference-name">{name}</code>
        <span class="reference-type">{fieldType(field)}</span>
        {required && <span class="reference-required">{texts.details.required}</span>}
        {markersOf(field).map((text) => (
          <span key={text} class="chip">
            {text}
          </span>
        ))}
      </p>
      {description && <p class="soft">{description}</p>}
      {values && (
        <span class="reference-values">
          {values.map((value) => (
            <code key={value}>{value}</code>
          ))}
        </span>
      )}
      {visibleTo && <p class="soft">{richText(texts.details.seenBy, { policy: <code>{visibleTo}</code> })}</p>}
      {writableBy && <p class="soft">{richText(texts.details.setBy, { policy: <code>{writableBy}</code> })}</p>}
    </li>
  );
}

function Policy({
  name,
  rule,
  action,
}: {
  name: ComponentChildren;
  /** undefined: there is no such route. */
  rule: AccessRule | undefined;
  action?: Action;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {rule ? (
          <>
            {policyInWords(rule.text, action)} <code>{rule.text}</code>
          </>
        ) : (
          <span class="soft">{texts.noRoute}</span>
        )}
      </dd>
    </div>
  );
}

function Policies({ mapped, hasScope }: { mapped: MappedResource; hasScope: boolean }) {
  return (
    <dl class="reference-policies">
      {ACTIONS.map((action) => (
        <Policy key={action} name={texts.actions[action]} rule={mapped.access[action]} action={action} />
      ))}
      <Policy name={texts.details.reference} rule={mapped.reference} />
      {mapped.routes.map(({ method, path, access }) => (
        <Policy
          key={`${method} ${path}`}
          name={
            <code>
              {method} {path}
            </code>
          }
          rule={access}
        />
      ))}
      {hasScope && (
        <div>
          <dt>{texts.details.scope}</dt>
          <dd>{texts.details.scopeText}</dd>
        </div>
      )}
    </dl>
  );
}

function Relations({ mapped, all }: { mapped: MappedResource; all: readonly MappedResource[] }) {
  const incoming = incomingOf(mapped.name, all);
  if (mapped.references.length + incoming.length === 0) return <p class="soft">{texts.details.noRelations}</p>;
  return (
    <ul class="reference-relations">
      {mapped.references.map(({ field, target, many, onDelete }) => (
        <li key={field}>
          <code>{field}</code> → <ToResource name={target} />
          {many && ` ${texts.map.list}`}
          <span class="soft">{texts.details.outgoing(texts.map.onDelete[onDelete])}</span>
        </li>
      ))}
      {incoming.map(({ from, field, onDelete }) => (
        <li key={`${from}.${field}`}>
          ← <ToResource name={from} />
          <code>.{field}</code>
          <span class="soft">{texts.details.incoming(texts.map.onDelete[onDelete])}</span>
        </li>
      ))}
    </ul>
  );
}

const list = (items: readonly string[]) => (items.length === 0 ? undefined : items.join(', '));

const indexText = ({ fields, unique }: MappedResource['indexes'][number]) =>
  unique ? texts.details.uniqueIndex(fields.join(' + ')) : fields.join(' + ');

function ResourceFacts({
  resource,
  mapped,
  apiPath,
}: {
  resource: ResourceInfo;
  mapped: MappedResource;
  apiPath: string;
}) {
  const { ownerField, defaultSort, softDelete, audit, timestamps } = resource;
  const own = texts.details;
  const features = Object.entries({ [own.softDelete]: softDelete, [own.audit]: audit, [own.timestamps]: timestamps });
  return (
    <Facts
      of={[
        [own.path, <code>{apiPath}</code>],
        [own.owner, ownerField && <code>{ownerField}</code>],
        [own.order, <code>{defaultSort}</code>],
        [own.features, list(features.flatMap(([name, isOn]) => (isOn ? [name] : [])))],
        [own.hooks, list(mapped.hooks)],
        [own.events, list(mapped.events)],
        [own.indexes, list(mapped.indexes.map(indexText))],
      ]}
    />
  );
}

/** Everything that the app declares about a resource. */
export function ResourceDetails({
  resource,
  mapped,
  all,
  onClose,
  takesFocus,
}: {
  resource: ResourceInfo;
  mapped: MappedResource;
  all: readonly MappedResource[];
  onClose: () => void;
  /** Whether the details replace the list. */
  takesFocus: boolean;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    if (takesFocus) heading.current?.focus();
  }, []);
  const { name, label, description, path } = resource;
  const apiPath = `/api/${path.replace(/^\/?(api\/)?/, '')}`;
  const handleKey = (event: KeyboardEvent) => {
    if (event.key === 'Escape') onClose();
  };
  return (
    <aside class="reference-details" aria-label={texts.details.label(name)} onKeyDown={handleKey}>
      <header>
        <h2 ref={heading} tabindex={-1}>
          {label}
        </h2>
        <IconButton icon="close" label={texts.details.close} onClick={onClose} />
      </header>
      {description && <p class="reference-text">{description}</p>}
      <p class="reference-links">
        <a href={dataHref([name])}>{texts.details.records}</a>
        <a href={hrefOf('/console/reference', new URLSearchParams({ q: apiPath }))}>{texts.details.routes}</a>
      </p>
      <ResourceFacts resource={resource} mapped={mapped} apiPath={apiPath} />
      <Section title={texts.details.fields}>
        <ul class="reference-members">
          {resource.fields.map((field) => (
            <Field key={field.name} field={field} />
          ))}
        </ul>
      </Section>
      <Section title={texts.details.policies}>
        <Policies mapped={mapped} hasScope={resource.hasScope} />
      </Section>
      <Section title={texts.details.relations}>
        <Relations mapped={mapped} all={all} />
      </Section>
    </aside>
  );
}
