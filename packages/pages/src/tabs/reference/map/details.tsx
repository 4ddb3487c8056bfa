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
import { policyInWords } from '../../../reference/policy.ts';
import { ACTIONS, type AccessRule, type Action } from './access.ts';
import { fieldType, incomingOf, markersOf } from './boxes.ts';
import { type MappedResource, ON_DELETE } from './resource-map.ts';

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
        {required && <span class="reference-required">required</span>}
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
      {visibleTo && (
        <p class="soft">
          Seen by <code>{visibleTo}</code>
        </p>
      )}
      {writableBy && (
        <p class="soft">
          Set by <code>{writableBy}</code>
        </p>
      )}
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
          <span class="soft">no route</span>
        )}
      </dd>
    </div>
  );
}

function Policies({ mapped, hasScope }: { mapped: MappedResource; hasScope: boolean }) {
  return (
    <dl class="reference-policies">
      {ACTIONS.map((action) => (
        <Policy key={action} name={action} rule={mapped.access[action]} action={action} />
      ))}
      <Policy name="reference" rule={mapped.reference} />
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
          <dt>scope</dt>
          <dd>A function limits which records exist for a viewer, whatever the policies allow.</dd>
        </div>
      )}
    </dl>
  );
}

function Relations({ mapped, all }: { mapped: MappedResource; all: readonly MappedResource[] }) {
  const incoming = incomingOf(mapped.name, all);
  if (mapped.references.length + incoming.length === 0)
    return <p class="soft">No reference leads from or to this resource.</p>;
  return (
    <ul class="reference-relations">
      {mapped.references.map(({ field, target, many, onDelete }) => (
        <li key={field}>
          <code>{field}</code> → <ToResource name={target} />
          {many && ' (list)'}
          <span class="soft">if it is deleted, this record {ON_DELETE[onDelete]}</span>
        </li>
      ))}
      {incoming.map(({ from, field, onDelete }) => (
        <li key={`${from}.${field}`}>
          ← <ToResource name={from} />
          <code>.{field}</code>
          <span class="soft">if this record is deleted, the other {ON_DELETE[onDelete]}</span>
        </li>
      ))}
    </ul>
  );
}

const list = (items: readonly string[]) => (items.length === 0 ? undefined : items.join(', '));

const indexText = ({ fields, unique }: MappedResource['indexes'][number]) =>
  fields.join(' + ') + (unique ? ' (unique)' : '');

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
  const features = Object.entries({ 'soft delete': softDelete, 'audit trail': audit, timestamps });
  return (
    <Facts
      of={[
        ['Path', <code>{apiPath}</code>],
        ['Owner', ownerField && <code>{ownerField}</code>],
        ['Order of lists', <code>{defaultSort}</code>],
        ['Features', list(features.flatMap(([name, isOn]) => (isOn ? [name] : [])))],
        ['Hooks', list(mapped.hooks)],
        ['Webhook events', list(mapped.events)],
        ['Indexes', list(mapped.indexes.map(indexText))],
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
    <aside class="reference-details" aria-label={`Resource ${name}`} onKeyDown={handleKey}>
      <header>
        <h2 ref={heading} tabindex={-1}>
          {label}
        </h2>
        <IconButton icon="close" label="Close the details" onClick={onClose} />
      </header>
      {description && <p class="reference-text">{description}</p>}
      <p class="reference-links">
        <a href={dataHref([name])}>Records</a>
        <a href={hrefOf('/console/reference', new URLSearchParams({ q: apiPath }))}>Routes</a>
      </p>
      <ResourceFacts resource={resource} mapped={mapped} apiPath={apiPath} />
      <Section title="Fields">
        <ul class="reference-members">
          {resource.fields.map((field) => (
            <Field key={field.name} field={field} />
          ))}
        </ul>
      </Section>
      <Section title="Policies">
        <Policies mapped={mapped} hasScope={resource.hasScope} />
      </Section>
      <Section title="Relations">
        <Relations mapped={mapped} all={all} />
      </Section>
    </aside>
  );
}
