import { useEffect, useRef, useState } from 'preact/hooks';
import {
  app,
  Code,
  Loaded,
  Nothing,
  Page,
  place,
  type ResourceInfo,
  setParams,
  useLoaded,
} from '../../../console/kit.ts';
import { richText } from '../../../kit/rich-text.ts';
import { useSearchKey } from '../../../reference/search-key.ts';
import { texts } from '../texts.ts';
import { matchesText, relationText, showsFieldsAtFirst } from './boxes.ts';
import { ResourceDetails } from './details.tsx';
import { Diagram } from './diagram.tsx';
import type { MappedResource, ResourceMap } from './resource-map.ts';

/** Below this width of the window, a list takes the place of the drawing. */
const WIDE = '(min-width: 720px)';

const REFERENCE = `const comment = defineResource('comment', {
  fields: {
    text: f.string().required(),
    post: f.ref('post', { onDelete: 'cascade' }).required(),
  },
});`;

/** Whether a media query applies now. */
function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const update = () => setMatches(list.matches);
    list.addEventListener('change', update);
    return () => list.removeEventListener('change', update);
  }, [query]);
  return matches;
}

const select = (resource: string | undefined) => setParams({ resource });

/** Closes the details, and returns the focus to the resource in the list. */
async function closeDetails(name: string): Promise<void> {
  await select(undefined);
  requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-resource="${CSS.escape(name)}"]`)?.focus());
}

/** A resource with its part of the map. */
interface Described {
  resource: ResourceInfo;
  mapped: MappedResource;
}

/** The resources with their relations as text: on narrow screens, and beside the drawing. */
function ResourceList({
  found,
  all,
  selected,
}: {
  found: readonly Described[];
  all: readonly MappedResource[];
  selected: string | undefined;
}) {
  return (
    <nav class="reference-resources" aria-label={texts.map.resources}>
      <ul>
        {found.map(({ resource: { name, label, fields }, mapped }) => (
          <li key={name}>
            <button
              type="button"
              data-resource={name}
              aria-pressed={name === selected ? 'true' : 'false'}
              onClick={() => select(name === selected ? undefined : name)}
            >
              <b>{label}</b>
              <span class="reference-resource-text">
                {texts.map.fields(fields.length)}. {relationText(mapped, all)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="soft">{texts.map.noMatch}</p>}
    </nav>
  );
}

function Toolbar({ search, showFields, isWide }: { search: string; showFields: boolean; isWide: boolean }) {
  const input = useRef<HTMLInputElement>(null);
  useSearchKey(input);
  return (
    <div class="reference-toolbar">
      <input
        type="search"
        ref={input}
        aria-label={texts.map.find}
        placeholder={`${texts.map.find}   /`}
        value={search}
        onInput={(event) => setParams({ q: event.currentTarget.value }, { replace: true })}
      />
      {isWide && (
        <label class="check">
          <input
            type="checkbox"
            checked={showFields}
            onChange={(event) => setParams({ fields: event.currentTarget.checked ? 'yes' : 'no' }, { replace: true })}
          />
          {texts.map.showFields}
        </label>
      )}
    </div>
  );
}

function NoReferences() {
  return (
    <Nothing title={texts.map.none}>
      <p>{richText(texts.map.noneText, { code: <code>f.ref</code> })}</p>
      <Code text={REFERENCE} label={texts.map.example} />
    </Nothing>
  );
}

function MapContent({ mapped, isWide }: { mapped: readonly MappedResource[]; isWide: boolean }) {
  const { params } = place.value;
  const { resources } = app.value;
  const search = params.get('q') ?? '';
  const fields = params.get('fields');
  const showFields = fields === null ? showsFieldsAtFirst(resources.length) : fields === 'yes';
  const byName = new Map(mapped.map((one) => [one.name, one]));
  const described = resources.flatMap((resource): Described[] => {
    const own = byName.get(resource.name);
    return own === undefined ? [] : [{ resource, mapped: own }];
  });
  const chosen = described.find(({ resource }) => resource.name === params.get('resource'));
  const selected = chosen?.resource.name;
  const details = chosen && (
    <ResourceDetails
      key={selected}
      {...chosen}
      all={mapped}
      takesFocus={!isWide}
      onClose={() => closeDetails(chosen.resource.name)}
    />
  );
  return (
    <>
      <Toolbar search={search} showFields={showFields} isWide={isWide} />
      {mapped.every(({ references }) => references.length === 0) && <NoReferences />}
      <div class={`reference-map ${details ? 'with-details' : ''}`}>
        {!isWide && details}
        <ResourceList
          found={described.filter(({ resource }) => matchesText(resource, search))}
          all={mapped}
          selected={selected}
        />
        {isWide && (
          <Diagram
            resources={resources}
            mapped={mapped}
            showFields={showFields}
            selected={selected}
            search={search}
            onSelect={select}
          />
        )}
        {isWide && details}
      </div>
    </>
  );
}

/** The resources of the app, and how they refer to each other. */
export function MapPage() {
  const map = useLoaded<ResourceMap>('/reference/map');
  const isWide = useMedia(WIDE);
  return (
    <Page title={texts.map.title} intro={texts.map.intro}>
      <Loaded from={map}>{({ resources }) => <MapContent mapped={resources} isWide={isWide} />}</Loaded>
    </Page>
  );
}
